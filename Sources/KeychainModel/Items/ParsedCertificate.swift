internal import Synchronization
internal import SystemCrypto

/// A certificate that is parsed on first use, and then kept.
///
/// A search gives back many items of which a client reads attributes alone: parsing takes longer than reading the row.
final class ParsedCertificate: Sendable {
    private enum State {
        case der([UInt8])
        case parsed(Certificate?)
    }

    private let state: Mutex<State>

    init(der: [UInt8]) { state = Mutex(.der(der)) }

    init(_ certificate: Certificate) { state = Mutex(.parsed(certificate)) }

    /// The certificate; nil for bytes that are not one.
    var certificate: Certificate? {
        state.withLock { state in
            switch state {
            case .parsed(let certificate): return certificate
            case .der(let der):
                let certificate = try? Certificate(der: der)
                state = .parsed(certificate)
                return certificate
            }
        }
    }
}
