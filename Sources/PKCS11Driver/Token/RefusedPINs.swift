internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// The PINs that tokens have refused since the program was started, as keyed hashes.
///
/// A module does not tell how many tries are left; so a PIN that is refused here may be right by the next run, and no file
/// keeps it.
final class RefusedPINs: Sendable {
    private struct State {
        /// Made with the first PIN: most programs never have one refused.
        var salt: [UInt8]?
        var codes: [TokenID: Set<[UInt8]>] = [:]
    }

    private let state = Mutex(State())

    func insert(_ pin: borrowing Secret, for token: TokenID) {
        state.withLock { state in
            guard let salt = state.salt ?? (try? RandomBytes.make(count: 32)),
                let code = try? HMAC.code(for: salt, key: pin)
            else { return }
            state.salt = salt
            state.codes[token, default: []].insert(code)
        }
    }

    func contains(_ pin: borrowing Secret, for token: TokenID) -> Bool {
        state.withLock { state in
            guard let salt = state.salt, let refused = state.codes[token],
                let code = try? HMAC.code(for: salt, key: pin)
            else { return false }
            return refused.contains(code)
        }
    }

    /// With the right PIN everything may have changed.
    func removeAll(for token: TokenID) {
        state.withLock { $0.codes[token] = nil }
    }
}
