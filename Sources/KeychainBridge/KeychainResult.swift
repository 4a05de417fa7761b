package import KeychainModel
package import SecureBytes
package import Wire

/// The answer to a call, and the secret of its message.
package struct KeychainResult: ~Copyable {
    package var answer: KeychainAnswer
    package var secrets: Secret
    /// The failure behind the code.
    private var failure: KeychainError?
    /// The parts of the search list that the answer lacks.
    private var missing: [Missing] = []

    init(
        path: String = "", number: UInt32 = 0, items: [KeychainItem] = [], attributes: [KeychainAttribute] = [],
        programs: [KeychainProgram]? = nil, missing: [Missing] = [], _ secrets: consuming Secret? = nil
    ) {
        answer = KeychainAnswer(
            path: Array(path.utf8), number: UInt64(number), items: items, attributes: attributes,
            programs: programs)
        self.secrets = secrets ?? Secret(capacity: 0) { _ in }
        self.missing = missing
    }

    /// An answer that has the code of a failure alone.
    package init(failing failure: KeychainError) {
        answer = KeychainAnswer(code: failure.code.rawValue)
        secrets = Secret(capacity: 0) { _ in }
        self.failure = failure
    }

    package consuming func takeSecrets() -> Secret { secrets }

    /// Adds the reason of a failure and the gaps, for the client's log.
    mutating func addWords() {
        answer.notes = missing.map { Array(DisplayText.line("missing in '\($0.keychain)': \($0.error)").utf8) }
        guard let failure else { return }
        answer.reason = Array(DisplayText.line("\(failure)" + (failure.key.map { ", key \($0)" } ?? "")).utf8)
    }
}
