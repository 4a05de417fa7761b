internal import KeychainModel
internal import Localization

extension KeychainError {
    /// The person declines to answer.
    static let canceled = KeychainError(.userCanceled, "canceled")
}
