//! A list that is copied in chunks, so that one element's change copies one chunk and a list of pointers.

use std::sync::Arc;

/// Elements in a chunk.
const CHUNK: usize = 64;

/// A cheaply cloned list.
#[derive(Debug)]
pub struct Chunked<T> {
    chunks: Vec<Arc<Vec<Arc<T>>>>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Clone for Chunked<T> {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone() }
    }
}

impl<T> FromIterator<Arc<T>> for Chunked<T> {
    fn from_iter<I: IntoIterator<Item = Arc<T>>>(elements: I) -> Self {
        let elements: Vec<Arc<T>> = elements.into_iter().collect();
        Self { chunks: elements.chunks(CHUNK).map(|chunk| Arc::new(chunk.to_vec())).collect() }
    }
}

impl<T> Chunked<T> {
    /// The element at `index`.
    pub fn get(&self, index: u32) -> Option<&Arc<T>> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// Puts another element in its place; out of range: ignored.
    pub fn replace(&mut self, index: u32, element: Arc<T>) {
        let index = index as usize;
        let Some(chunk) = self.chunks.get_mut(index / CHUNK) else { return };
        if let Some(slot) = Arc::make_mut(chunk).get_mut(index % CHUNK) {
            *slot = element;
        }
    }

    /// All elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_one_element_copies_its_chunk_alone() {
        let old: Chunked<u32> = (0..130).map(Arc::new).collect();
        let mut new = old.clone();
        new.replace(129, Arc::new(200));
        new.replace(130, Arc::new(200));
        assert!(Arc::ptr_eq(&old.chunks[0], &new.chunks[0]) && !Arc::ptr_eq(&old.chunks[2], &new.chunks[2]));
        assert_eq!((old.get(129).map(|n| **n), new.get(129).map(|n| **n)), (Some(129), Some(200)));
        assert_eq!((old.iter().count(), new.iter().count(), new.get(130)), (130, 130, None));
    }
}
