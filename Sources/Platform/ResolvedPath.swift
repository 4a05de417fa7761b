internal import Glibc

/// The path without symbolic links; nil for a missing file. Wraps `realpath`.
package func resolvedPath(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(validatingCString: resolved)
}
