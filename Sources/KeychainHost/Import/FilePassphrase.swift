internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

/// Decrypts the parts of a file. Asks for a passphrase once, and again for each part that no earlier answer decrypts.
final class FilePassphrase {
    /// The source of a file's passphrase.
    enum Source {
        case given(SharedSecret)
        case asking(AuthenticationContext)
        /// No passphrase: an encrypted part is an error.
        case none
    }

    private let source: Source
    private let name: String
    private var known: [SharedSecret]

    /// - Parameter name: the file name for prompts and errors.
    init(_ source: Source, of name: String) {
        (self.source, self.name) = (source, name)
        known = if case .given(let passphrase) = source { [passphrase] } else { [] }
    }

    /// - Parameters:
    ///   - part: the number of the part; nil for the only one.
    ///   - refusal: the error of reading the part without a passphrase.
    func open<Content>(
        _ part: Int?, _ refusal: CryptoError, _ decrypt: (borrowing Secret) throws(CryptoError) -> Content
    ) throws(ImportFailure) -> Content {
        var refusal = refusal
        for password in known {
            do throws(CryptoError) { return try decrypt(password.secret) } catch {
                guard error.code == .wrongPassword else { throw .unexplained(error) }
                refusal = error
            }
        }
        guard case .asking(let context) = source else { throw .unexplained(refusal) }
        let password = try ask(part, context)
        known.append(password)
        return try ImportFailure.mapping { () throws(CryptoError) in try decrypt(password.secret) }
    }

    private func ask(_ part: Int?, _ context: AuthenticationContext) throws(ImportFailure) -> SharedSecret {
        let use = part.map { "open part \($0) of it" } ?? "open it"
        do throws(KeychainError) {
            return SharedSecret(try context.prompter.askForAnother(PromptRequest(.password, subject: name, use: use)))
        } catch {
            throw .explained(error)
        }
    }
}

/// A failure to read a file or one of its parts.
enum ImportFailure: Error {
    case explained(KeychainError)
    /// An error that does not name the part yet.
    case unexplained(CryptoError)

    var isMalformed: Bool {
        guard case .unexplained(let error) = self else { return false }
        return error.code == .malformed
    }

    static func mapping<Result>(_ body: () throws(CryptoError) -> Result) throws(ImportFailure) -> Result {
        do { return try body() } catch { throw .unexplained(error) }
    }
}
