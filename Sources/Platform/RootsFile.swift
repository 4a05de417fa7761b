internal import Glibc

/// A file that only root can change or replace, as a library that this process has another one load.
package struct RootsFile {
    /// The path without symbolic links, which leads to the file also when it is opened later.
    package let path: String

    package struct Refusal: Error {
        package let reason: String
    }

    /// - Throws: ``Refusal`` for a missing file, for anything but a regular one, and for one that another user than root can change.
    package init(_ path: String) throws(Refusal) {
        guard let followed = FollowedPath(path, for: 0) else { throw Refusal(reason: "\(path) is not there") }
        guard followed.status.st_mode & S_IFMT == S_IFREG else { throw Refusal(reason: "\(followed.path) is no file") }
        if let weakness = followed.weakness {
            throw Refusal(reason: "others than root can change it: \(weakness.reason)")
        }
        let user = geteuid()
        // Access control lists and file systems in user space may allow more than owners and modes show.
        guard user == 0 || OpenExecutable(at: followed.path)?.isRoots(followed.path, against: user) == true else {
            throw Refusal(reason: "others than root can change \(followed.path)")
        }
        self.path = followed.path
    }
}
