//! One check: results in, a damped level out. Leaves fast, returns slowly.
