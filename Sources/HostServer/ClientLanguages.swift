internal import Localization
internal import Synchronization

/// The languages of the host's clients. Those who choose the same one share its catalogue.
final class ClientLanguages: Sendable {
    static let shared = ClientLanguages()

    private static let variables = ["LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"].map { Array("\($0)=".utf8) }
    /// The choices that are kept, more than the users of one session make.
    private static let maximumCount = 16

    private let languages = Mutex<[[[UInt8]]: Language]>([:])

    /// The language that a client was started with.
    func language(of peer: Peer) -> Language { language(of: peer.variables.map { Array("\($0)=\($1)".utf8) }) }

    /// - Parameter environment: a client's variables, each as `NAME=value`.
    func language(of environment: [[UInt8]]) -> Language {
        let choice = environment.filter { variable in
            ClientLanguages.variables.contains { variable.starts(with: $0) }
        }
        if let language = languages.withLock({ $0[choice] }) { return language }
        let language = Language(environment: choice)
        languages.withLock { languages in
            if languages.count >= ClientLanguages.maximumCount { languages = [:] }
            languages[choice] = language
        }
        return language
    }
}
