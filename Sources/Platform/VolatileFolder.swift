internal import Glibc

/// The folder, emptied when the machine is switched off, for programs of a user that have no session's folder.
package struct VolatileFolder {
    /// The path; nil where there is no folder that only the user can write to.
    package let path: String?
    /// The reason, for a person, why the folder is not in memory; nil where it is.
    package let remark: String?

    /// - Parameters:
    ///   - memory: places in memory, of which the last is made where none exists.
    ///   - cache: the folder for a replacement, which is used when another user has taken the name in memory first. Its
    ///     name has `boot`; the replacements of earlier starts of the machine are deleted.
    ///   - boot: an identifier of this start of the machine.
    package init(memory: [String], cache: String, boot: String? = Boot.identifier) {
        let instead = boot.map { "\(cache)/\(VolatileFolder.prefix)\($0)" }
        // A folder in the cache is used until the next start of the machine, even if the name in memory becomes free.
        let isInCache = instead.map { Folder.isOwn($0) } ?? false
        let places = isInCache ? memory.dropLast() : memory[...]
        if let place = places.first(where: { Folder.isOwn($0) }) {
            (path, remark) = (place, nil)
            return
        }
        let wanted = memory.last ?? ""
        if !isInCache, unsafe mkdir(wanted, Folder.mode) == 0 {
            (path, remark) = (wanted, nil)
            return
        }
        let obstacle = isInCache ? "" : VolatileFolder.obstacle(to: wanted)
        if !isInCache, let instead { VolatileFolder.make(instead, in: cache) }
        path = instead.flatMap { Folder.isOwn($0) ? $0 : nil }
        let consequence =
            path.map { "what cards refused is remembered in \($0)" } ?? "what cards refused is not remembered"
        remark = "\(obstacle.isEmpty ? "\(wanted) could not be used" : obstacle): \(consequence)"
    }

    private static let prefix = "boot-"

    /// - Parameter path: the folder that could not be made, with the reason in `errno`.
    private static func obstacle(to path: String) -> String {
        let reason = SystemError().reason
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return "\(path) cannot be made: \(reason)" }
        guard status.st_uid == geteuid() else { return "\(path) belongs to \(User(status.st_uid).text)" }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(path) is not a folder" }
        return "\(path) can be used by others than \(User.effective.text)"
    }

    private static func make(_ path: String, in cache: String) {
        for name in Folder(path: cache).names where name.hasPrefix(prefix) { Folder(path: "\(cache)/\(name)").remove() }
        try? Folder(path: path).makeAll()
    }
}
