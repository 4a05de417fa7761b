internal import Glibc

/// The path without symbolic links; nil for a missing file. Wraps `realpath`.
package func resolvedPath(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(validatingCString: resolved)
}

/// The path from the root on; a relative one starts at the working directory. The empty path, and any path where the working directory is
/// gone, is left as it is.
package func absolutePath(_ path: String) -> String {
    guard !path.hasPrefix("/"), !path.isEmpty, let folder = resolvedPath(".") else { return path }
    return "\(folder == "/" ? "" : folder)/\(path.hasPrefix("./") ? String(path.dropFirst(2)) : path)"
}
