internal import Glibc

/// Small files that are this user's, and nobody else's to write.
enum OwnFile {
    /// The content; nil for an empty file, one of more than `limit` bytes, or one that another could have written.
    static func read(_ path: String, limit: Int) -> [UInt8]? {
        // A pipe put in its place must not keep anybody waiting.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            isOwn(information), information.st_size >= 1, information.st_size <= limit
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(information.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return count == bytes.count ? bytes : nil
    }

    /// Puts a file in the place of one that may be there.
    static func replace(_ path: String, with bytes: [UInt8]) -> Bool {
        write(bytes, beside: path) { unsafe rename($0, path) == 0 }
    }

    /// Makes a file with all of its content, unless there is one.
    static func create(_ path: String, with bytes: [UInt8]) -> Bool {
        var information = stat()
        guard unsafe lstat(path, &information) != 0 else { return false }
        return write(bytes, beside: path) { unsafe link($0, path) == 0 }
    }

    private static func write(_ bytes: [UInt8], beside path: String, _ place: (String) -> Bool) -> Bool {
        let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
        let draft = "\(folder)/.\(UniqueID())"
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { _ = unsafe unlink(draft) }
        let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return written == bytes.count && place(draft)
    }

    /// The names of files in a folder, hidden ones left out.
    static func names(in folder: String, limit: Int) -> [String] {
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

    /// Whether it is a folder that only this user can put files in.
    static func isOwnFolder(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR && isOwn(information)
    }

    private static func isOwn(_ information: stat) -> Bool {
        information.st_uid == geteuid() && information.st_mode & (S_IWGRP | S_IWOTH) == 0
    }
}
