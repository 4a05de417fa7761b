internal import Glibc

/// A program by its file, which need not run: the same to decisions as when it does.
package struct ProgramFile: Sendable {
    package let id: ProgramID
    /// The path of the file, without symbolic links.
    package let path: String

    /// The reason why no lasting decision can hold for a file.
    package enum Refusal: Error, Equatable {
        case absent(SystemError)
        case notExecutable
        /// A program that runs other programs' text.
        case interpreter
        /// A text that an interpreter runs.
        case script
        /// A file of a file system that a program in user space provides, which can show any content.
        case inUserSpace
        case unreadable
    }

    /// - Parameter user: the user who must not be able to write a program that is known by its path.
    package init(
        at given: String, user: UInt32 = geteuid(), digest: ProgramIdentity.Digester
    ) throws(Refusal) {
        guard let path = resolvedPath(given), let file = OpenExecutable(at: path) else { throw .absent(SystemError()) }
        guard file.isRegular, unsafe access(path, X_OK) == 0 else { throw .notExecutable }
        guard !Interpreter.isOne(path.split(separator: "/").last.map(String.init) ?? "") else { throw .interpreter }
        guard !file.isInUserSpace else { throw .inUserSpace }
        guard !file.isScript else { throw .script }
        self.path = path
        if file.isRoots(path, against: user) {
            id = .path(path)
        } else if let digest = digest(file) {
            id = .digest(digest)
        } else {
            throw .unreadable
        }
    }
}
