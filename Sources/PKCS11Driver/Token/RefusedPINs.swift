internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// The PINs that tokens have refused since the program was started, as keyed hashes.
///
/// A module does not tell how many tries are left; so a PIN that is refused here may be right by the next run, and no file
/// keeps it.
final class RefusedPINs: Sendable {
    private let salt: [UInt8]
    private let codes = Mutex<[TokenID: Set<[UInt8]>]>([:])

    init() {
        salt = (try? RandomBytes.make(count: 32)) ?? []
    }

    func insert(_ pin: borrowing Secret, for token: TokenID) {
        guard let code = code(of: pin) else { return }
        codes.withLock { _ = $0[token, default: []].insert(code) }
    }

    func contains(_ pin: borrowing Secret, for token: TokenID) -> Bool {
        guard let code = code(of: pin) else { return false }
        return codes.withLock { $0[token]?.contains(code) ?? false }
    }

    /// With the right PIN everything may have changed.
    func removeAll(for token: TokenID) {
        codes.withLock { $0[token] = nil }
    }

    private func code(of pin: borrowing Secret) -> [UInt8]? {
        salt.isEmpty ? nil : try? HMAC.code(for: salt, key: pin)
    }
}
