//! Checks of one region, summed up for one service.
