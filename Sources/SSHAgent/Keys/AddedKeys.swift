internal import Platform
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// A private key that a client has added, in the memory of the host.
struct AddedKey: Sendable {
    /// The public half, or a certificate of it.
    let blob: [UInt8]
    let comment: [UInt8]
    let key: PrivateKey
    let limits: KeyLimits

    /// - Throws: `MalformedMessage` for numbers that are no key, for a certificate of another key, and for RSA keys that are too short.
    init(_ identity: NewIdentity, _ constraints: [KeyConstraint]) throws(MalformedMessage) {
        let fields = identity.fields
        guard let format = SSHKeyFormat(kind: identity.kind), format.kindInSecurityKey == nil,
            fields.count == format.privateFieldCount
        else { throw MalformedMessage() }
        if format.hasCertificate {
            blob = fields[0].secret.copied()
            guard let certified = SSHPublicKey(blob), certified.hasCertificate else { throw MalformedMessage() }
            key = try AddedKey.key(format, fields.dropFirst(), certified.plain)
            guard (try? key.publicKey.openSSH()) == certified.plain else { throw MalformedMessage() }
        } else {
            key = try AddedKey.key(format, fields[...], nil)
            guard let blob = try? key.publicKey.openSSH() else { throw MalformedMessage() }
            self.blob = blob
        }
        if case .rsa(let bits) = key.kind, bits < AddedKey.minimumRSABits { throw MalformedMessage() }
        comment = Array(identity.comment.prefix(AddedKey.maximumComment))
        limits = KeyLimits(constraints)
    }

    static let minimumRSABits = 1024
    /// In bytes. Clients take lists of 256 KiB.
    private static let maximumComment = 1024

    /// - Parameters:
    ///   - fields: the fields of the message, without a certificate.
    ///   - certified: the public half that a certificate has, whose numbers the message does not have; nil without one.
    private static func key(
        _ format: SSHKeyFormat, _ fields: ArraySlice<SharedSecret>, _ certified: [UInt8]?
    ) throws(MalformedMessage) -> PrivateKey {
        var publicFields: [[UInt8]] = []
        if let certified, format.plainKind != "ssh-ed25519" {
            var rest = certified.span
            _ = try rest.readString()
            while !rest.isEmpty { publicFields.append(try rest.readBytes()) }
            // A private RSA key has its modulus first, and a public one its exponent.
            if format.plainKind == "ssh-rsa" { publicFields.reverse() }
        }
        let kind = Array(format.plainKind.utf8)
        let count =
            fields.reduce(0) { $0 + 4 + $1.secret.count } + publicFields.reduce(0) { $0 + 4 + $1.count } + 4
            + kind.count
        let all = Secret(capacity: count) { output in
            output.append(lengthPrefixed: kind.span)
            for field in publicFields { output.append(lengthPrefixed: field.span) }
            for field in fields { append(field.secret, to: &output) }
        }
        do throws(CryptoError) { return try PrivateKey(openSSHFields: all) } catch { throw MalformedMessage() }
    }

    private static func append(_ field: borrowing Secret, to output: inout OutputSpan<UInt8>) {
        output.append(lengthPrefixed: field.bytes)
    }
}

extension AddedKey: Expiring {
    var id: [UInt8] { blob }
}

/// The keys that clients have added, and the lock of the agent.
final class AddedKeys: Sendable {
    private struct State {
        var lock: Lock?
        var failures = 0
    }

    private struct Lock {
        let salt: [UInt8]
        let digest: SharedSecret
    }

    private let keys = ExpiringList<AddedKey>(limit: AddedKeys.maximumCount)
    private let state = Mutex(State())
    /// Serialises locking and attempts to unlock, each of which waits after a failure.
    private let unlocking = Mutex(())

    /// Keys that are kept at a time, so that a client cannot take all memory.
    static let maximumCount = 256

    var isLocked: Bool { state.withLock { $0.lock != nil } }

    /// Whether something is kept that the end of the host would lose.
    var isInUse: Bool { isLocked || !keys.all.isEmpty }

    /// The keys whose time is not over, in the order in which they were added.
    var all: [AddedKey] { keys.all }

    /// Adds a key, or replaces it with its constraints.
    ///
    /// - Returns: false for one too many.
    func add(_ key: AddedKey) -> Bool { keys.add(key) }

    /// - Returns: false where there is no such key.
    func remove(_ blob: [UInt8]) -> Bool { keys.remove(blob) }

    func removeAll() { keys.removeAll() }

    // MARK: Lock

    /// - Returns: false where the agent is locked already.
    func lock(_ passphrase: borrowing Secret) -> Bool {
        let passphrase = SharedSecret(passphrase.clone())
        // One at a time: each takes memory.
        return unlocking.withLock { _ in
            guard !isLocked, let salt = try? RandomBytes.make(count: 16),
                let digest = AddedKeys.digest(passphrase.secret, salt)
            else { return false }
            state.withLock { $0.lock = Lock(salt: salt, digest: digest) }
            return true
        }
    }

    /// Unlocks by the passphrase of the lock. Each failure makes the next answer later, up to ten seconds, for all clients together.
    func unlock(_ passphrase: borrowing Secret, wait: (Duration) -> Void = AddedKeys.sleep) -> Bool {
        let passphrase = SharedSecret(passphrase.clone())
        return unlocking.withLock { _ in
            guard let lock = state.withLock({ $0.lock }) else { return false }
            if let digest = AddedKeys.digest(passphrase.secret, lock.salt), digest.secret.equals(lock.digest.secret) {
                state.withLock { ($0.lock, $0.failures) = (nil, 0) }
                return true
            }
            let failures = state.withLock { state in
                state.failures = min(state.failures + 1, 100)
                return state.failures
            }
            wait(.milliseconds(100 * failures))
            return false
        }
    }

    private static func digest(_ passphrase: borrowing Secret, _ salt: [UInt8]) -> SharedSecret? {
        do throws(CryptoError) {
            return SharedSecret(
                try Scrypt.deriveKey(password: passphrase, salt: salt, n: 1 << 12, r: 8, p: 1, count: 32))
        } catch {
            return nil
        }
    }

    @Sendable private static func sleep(_ time: Duration) { _ = CountingSemaphore().wait(for: time) }
}
