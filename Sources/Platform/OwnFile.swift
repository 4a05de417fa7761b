internal import Glibc

/// Small files that belong to this user, and that no other user can write.
package enum OwnFile {
    /// The content; nil for an empty file, a file of more than `limit` bytes, or a file that another user can write.
    package static func read(_ path: String, limit: Int) -> [UInt8]? {
        // O_NONBLOCK, so that a pipe in the file's place does not block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            isOwn(information)
        else { return nil }
        guard let bytes = try? Descriptor.read(descriptor, limit: limit), 1...limit ~= bytes.count else { return nil }
        return bytes
    }

    /// The names of files in a folder, hidden ones left out.
    package static func names(in folder: String, limit: Int) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    /// Whether the path is a folder in which only this user can create files.
    package static func isOwnFolder(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR && isOwn(information)
    }

    /// Whether the path exists and belongs to another user.
    package static func isAnothers(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_uid != geteuid()
    }

    private static func isOwn(_ information: stat) -> Bool {
        information.st_uid == geteuid() && information.st_mode & (S_IWGRP | S_IWOTH) == 0
    }
}
