package import Glibc
package import KeychainModel
package import Localization
package import Platform

extension Folder {
    /// Makes the missing folders of the path, for the owner alone by default.
    ///
    /// - Throws: `errSecNoAccessForItem` where an existing part of the path belongs neither to this user nor to root.
    package func make(mode: mode_t = Folder.mode) throws(KeychainError) {
        do throws(Failure) { try makeAll(mode: mode) } catch {
            switch error {
            case .refused(let refusal): throw KeychainError(refusal)
            case .system(let what, let error): throw KeychainError(system: "\(what)", error)
            }
        }
    }

    /// Flushes the folder to the disk, so that names created or deleted in it are not lost.
    func sync() throws(KeychainError) {
        do throws(SystemError) { try AtomicFile.sync(folder: path) } catch {
            throw KeychainError(system: "the folder \(path) cannot be written", error)
        }
    }
}

extension FollowedPath {
    /// - Throws: `errSecNoAccessForItem`, naming the first part that belongs neither to the user nor to root, and its owner.
    package func checkOwners() throws(KeychainError) {
        if let refusal = refusalOfOwners { throw KeychainError(refusal) }
    }

    /// - Throws: `errSecNoAccessForItem`, naming the first folder of the path in which other users may replace the next part.
    package func checkFolders() throws(KeychainError) {
        if let refusal = refusalOfFolders { throw KeychainError(refusal) }
    }
}

extension KeychainError {
    fileprivate init(_ refusal: FollowedPath.Refusal) {
        self.init(.noAccessForItem, "\(refusal.reason)", remedy: "\(refusal.remedy)")
    }

    /// The keychain error of a failed system call: the last one, unless another error is given.
    ///
    /// - Parameter what: the failure, in words to which the reason is appended.
    package init(system what: LocalizedText, _ error: SystemError = SystemError()) {
        let code: ErrSec =
            switch error.number {
            case ENOSPC, EDQUOT: .diskFull
            case EACCES, EPERM, EROFS: .writePermission
            default: .io
            }
        self.init(code, "\(what): \(error.reason)")
    }
}
