internal import CLinux
package import Glibc

/// A path that was followed from the root on, each part by the descriptor of the folder before it, with the users who
/// could lead it elsewhere.
///
/// A process with other rights than the user who chose the path must not treat that user's files as its own: it would
/// follow their settings, or write its secrets into them. If every part belongs to the process's user or to root, and
/// no other user may replace a part, the path leads to the same file when it is opened by name later.
package struct FollowedPath {
    /// The path without symbolic links.
    package let path: String
    /// Status of the file at the end of the path; with `asFarAsThere`, of its last part that exists.
    package let status: stat

    private let parts: Parts

    /// The most symbolic links that are followed on one path, as in the kernel.
    private static let maximumLinks = 40

    /// - Parameters:
    ///   - asFarAsThere: whether a path that does not exist is followed to its last existing part.
    ///   - user: the user who, besides root, may own its parts.
    /// - Returns: nil where the path leads nowhere, with the reason in `errno`.
    package init?(_ given: String, asFarAsThere: Bool = false, for user: UInt32 = geteuid()) {
        guard !given.isEmpty, !given.utf8.contains(0), given.utf8.count < PATH_MAX else {
            errno = given.utf8.count < PATH_MAX ? ENOENT : ENAMETOOLONG
            return nil
        }
        guard let absolute = given.hasPrefix("/") ? given : resolvedPath(".").map({ "\($0)/\(given)" }) else {
            return nil
        }
        var owned = Parts(user: User(user))
        var folder = PathDescriptor(unsafe clinux_open_part(AT_FDCWD, "/"))
        guard var status = folder.status else { return nil }
        var names: [Substring] = []
        var rest = Self.parts(of: absolute)
        var links = 0
        while let part = rest.popLast() {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                errno = ENOTDIR
                return nil
            }
            if part.isEmpty || part == "." { continue }
            owned.note(folder: status, at: Self.path(names))
            let next = PathDescriptor(unsafe clinux_open_part(folder.number, String(part)))
            guard let found = next.status else {
                if asFarAsThere, errno == ENOENT { break }
                return nil
            }
            if found.st_mode & S_IFMT == S_IFLNK {
                let link = Self.path(names + [part])
                owned.note(owner: found, of: "the symbolic link \(link)", at: link)
                links += 1
                guard links <= Self.maximumLinks, let target = next.linkTarget else {
                    if links > Self.maximumLinks { errno = ELOOP }
                    return nil
                }
                rest += Self.parts(of: target)
                guard target.hasPrefix("/") else { continue }
                names = []
                folder = PathDescriptor(unsafe clinux_open_part(AT_FDCWD, "/"))
            } else {
                if part == ".." { _ = names.popLast() } else { names.append(part) }
                folder = next
            }
            guard let current = folder.status else { return nil }
            status = current
        }
        path = Self.path(names)
        self.status = status
        owned.note(owner: status, of: status.st_mode & S_IFMT == S_IFDIR ? "the folder \(path)" : path, at: path)
        self.parts = owned
    }

    private static func parts(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).reversed()
    }

    private static func path(_ names: [Substring]) -> String { "/" + names.joined(separator: "/") }

    // MARK: What is refused

    /// The reason why a path is not used.
    package struct Refusal: Error {
        package let reason: String
        package let remedy: String
    }

    /// Names the first part that belongs neither to the user nor to root, and its owner; nil where there is none.
    package var refusalOfOwners: Refusal? {
        guard let foreign = parts.foreign else { return nil }
        let place = foreign.what.hasSuffix(path) ? "" : ", on the way to \(path),"
        return Refusal(
            reason:
                "\(foreign.what)\(place) belongs to \(Self.name(of: foreign.owner)), and this program runs as \(parts.user.text)",
            remedy: remedy(foreign.owner))
    }

    private static func name(of owner: User) -> String {
        owner.isUnmapped ? "a user that this container has no number for" : owner.text
    }

    private func remedy(_ owner: User) -> String {
        let owners = parts.user.number == 0 ? "root owns" : "\(parts.user.text) and root own"
        let elsewhere = "keep it where only \(owners) the folders"
        guard parts.user.number == 0, !owner.isUnmapped else { return elsewhere }
        var home = stat()
        if let path = Environment.variable("HOME"), unsafe stat(path, &home) == 0, home.st_uid == owner.number {
            return "'sudo -H' uses root's own keychains and settings; without sudo those of \(owner.text) are used"
        }
        return "run it as \(owner.text), or \(elsewhere)"
    }

    /// Whether the path leads to a file that no user but this one and root can write or replace, as a program that is to be started.
    package var isOwn: Bool {
        refusalOfOwners == nil && refusalOfFolders == nil && parts.isPrivate(status)
    }

    /// A part of the path by which another user than root and this one can change what the path leads to.
    package struct Weakness: Hashable, Sendable {
        package let part: String
        package let reason: String
        /// Whether the part belongs to another user, and not only lets others write.
        package let isOwners: Bool
    }

    /// The first such part; nil where only the user and root can change the file.
    package var weakness: Weakness? {
        if let foreign = parts.foreign {
            return Weakness(
                part: foreign.path, reason: "\(foreign.what) belongs to \(Self.name(of: foreign.owner))", isOwners: true
            )
        }
        if let replaceable = parts.replaceable {
            return Weakness(
                part: replaceable, reason: "other users may replace files in \(replaceable)", isOwners: false)
        }
        guard !parts.isPrivate(status) else { return nil }
        return Weakness(part: path, reason: "other users may write to \(path)", isOwners: false)
    }

    /// Names the first folder of the path in which other users may replace the next part; nil where there is none.
    package var refusalOfFolders: Refusal? {
        guard let replaceable = parts.replaceable else { return nil }
        return Refusal(
            reason: "other users may replace files in \(replaceable), on the way to \(path)",
            remedy: "chmod go-w it, or keep the file elsewhere")
    }
}

/// The findings about the parts of a path.
private struct Parts {
    let user: User
    /// The first part that belongs neither to the user nor to root, and its owner.
    var foreign: (what: String, path: String, owner: User)?
    /// The first folder in which other users may replace the next part.
    var replaceable: String?

    /// Examines a folder of the path. A folder of a user without a number in this user namespace may be root's, and passes.
    mutating func note(folder status: stat, at path: String) {
        if isForeign(status), !User(status.st_uid).isUnmapped {
            note(owner: status, of: "the folder \(path)", at: path)
        }
        // In a sticky folder only the owner of a file can replace it.
        if !isPrivate(status), status.st_mode & S_ISVTX == 0 { replaceable = replaceable ?? path }
    }

    /// Whether only the owner can write. A group with the owner's number has the owner as its only member, as distributions with umask 002
    /// make them.
    func isPrivate(_ status: stat) -> Bool {
        status.st_mode & S_IWOTH == 0 && (status.st_mode & S_IWGRP == 0 || status.st_gid == status.st_uid)
    }

    mutating func note(owner status: stat, of what: String, at path: String) {
        if foreign == nil, isForeign(status) { foreign = (what, path, User(status.st_uid)) }
    }

    private func isForeign(_ status: stat) -> Bool { status.st_uid != user.number && status.st_uid != 0 }
}

/// A descriptor that is closed at the end of its use.
private struct PathDescriptor: ~Copyable {
    let number: Int32

    /// - Parameter result: a descriptor, or a negated error number, which is stored in `errno`.
    init(_ result: Int32) {
        number = result
        if result < 0 { errno = -result }
    }

    deinit {
        // `errno` has the reason of an earlier failure, which is still to be reported.
        let code = errno
        if number >= 0 { close(number) }
        errno = code
    }

    /// The file's status; nil with the reason in `errno`.
    var status: stat? {
        guard number >= 0 else { return nil }
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? status : nil
    }

    /// The target of a symbolic link; nil with the reason in `errno`. Wraps `readlinkat`.
    var linkTarget: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = unsafe readlinkat(number, "", &bytes, Int(PATH_MAX))
        guard count >= 0 else { return nil }
        errno = count == 0 ? ENOENT : EILSEQ
        return count == 0 ? nil : String(validating: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
