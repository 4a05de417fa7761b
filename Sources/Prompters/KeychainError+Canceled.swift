internal import KeychainModel

extension KeychainError {
    /// The person declines to answer.
    static let canceled = KeychainError(.userCanceled, "canceled")
}
