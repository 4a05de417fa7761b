internal import SecureBytes
internal import SystemCrypto

/// Opens the encrypted parts of a file. A passphrase is asked for once, and again for a part that no earlier answer opens.
public final class FilePassphrase {
    /// Where the passphrase of a file comes from.
    public enum Source {
        case given(SharedSecret)
        case asking(AuthenticationContext)
        /// What is encrypted cannot be read.
        case none
    }

    private let source: Source
    private let name: String
    private var known: [SharedSecret]

    /// - Parameter name: what people call the file.
    public init(_ source: Source, of name: String) {
        (self.source, self.name) = (source, name)
        known = if case .given(let passphrase) = source { [passphrase] } else { [] }
    }

    /// - Parameters:
    ///   - part: which part of the file it is, where there are several.
    ///   - refusal: why the part could not be read without a passphrase.
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
            return SharedSecret(try context.askForAnother(PromptRequest(.password, subject: name, use: use)))
        } catch {
            throw .explained(error)
        }
    }
}

/// Why a file or a part of it cannot be read.
enum ImportFailure: Error {
    case explained(KeychainError)
    /// Which part of the file it was is still to be said.
    case unexplained(CryptoError)

    var isMalformed: Bool {
        guard case .unexplained(let error) = self else { return false }
        return error.code == .malformed
    }

    static func mapping<Result>(_ body: () throws(CryptoError) -> Result) throws(ImportFailure) -> Result {
        do { return try body() } catch { throw .unexplained(error) }
    }
}
