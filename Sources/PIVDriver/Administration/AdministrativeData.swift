package import SecureBytes
package import TokenKit

/// Yubico's administrative data, object `5FFF00`: how the management key is known.
///
///     80 { 81 flags · 82 salt of a key that is derived from the PIN · 83 time of the PIN's last change }
package struct AdministrativeData {
    private var flags: UInt8
    private let time: [UInt8]?

    private static let keptUnderPIN: UInt8 = 0x02

    /// Whether the card keeps the management key under the PIN.
    var keepsManagementKey: Bool {
        get { flags & AdministrativeData.keptUnderPIN != 0 }
        set {
            flags = newValue ? flags | AdministrativeData.keptUnderPIN : flags & ~AdministrativeData.keptUnderPIN
        }
    }

    /// - Parameter content: nil where the card has no such object.
    package init(parsing content: [UInt8]?) throws(TokenError) {
        let fields = try PIVFormat.parsing("administrative data") { () throws(TLVError) -> [TLVTag: [UInt8]] in
            guard let content else { return [:] }
            var outer = try TLVReader.only(0x80, in: content).children()
            return try outer.fields()
        }
        flags = fields[0x81]?.first ?? 0
        time = fields[0x83]
    }

    package var encoded: [UInt8] {
        let fields = [TLV(0x81, [flags])] + (time.map { [TLV(0x83, $0)] } ?? [])
        return TLV(0x80, fields).encoded()
    }
}

/// A management key that the card keeps in its Printed Information, which needs the PIN. The form is that of ykman and pivy.
///
///     88 { 89 key · 8A the key that is about to take its place }
package struct KeptManagementKey: ~Copyable {
    package let key: Secret?
    package let next: Secret?

    init(key: consuming Secret?, next: consuming Secret?) {
        self.key = key
        self.next = next
    }

    /// - Parameter answer: to GET DATA; empty where the card has no such object.
    /// - Throws: ``TokenError`` `.unsupported` for an object with printed information, which must not be lost.
    package init(parsing answer: Span<UInt8>) throws(TokenError) {
        var rest = answer
        var key: Secret?
        var next: Secret?
        do throws(TLVError) {
            // The outer tag may be missing.
            if !rest.isEmpty, rest[0] == 0x53 { rest = try rest.readTLV(0x53, .card) }
            guard !rest.isEmpty else {
                self.init(key: nil, next: nil)
                return
            }
            var fields = try rest.readTLV(KeptManagementKey.tag, .card)
            while !fields.isEmpty {
                let tag = try TLVHeader(fields, .card).tag
                let value = try fields.readTLV(tag, .card)
                if tag == 0x89 { key = Secret(copying: value) }
                if tag == 0x8A { next = Secret(copying: value) }
            }
        } catch {
            guard error.code != .missing else {
                throw TokenError(
                    .unsupported,
                    "the card's Printed Information is in use, so that it cannot keep the management key")
            }
            throw PIVFormat.malformed("protected management key", "\(error)")
        }
        self.init(key: key, next: next)
    }

    private static let tag: TLVTag = 0x88

    /// The object with a key, and the one that is about to take its place.
    package static func encoded(_ key: borrowing Secret, next: borrowing Secret?) -> Secret {
        func field(_ tag: UInt8, _ secret: borrowing Secret) -> Secret {
            Secret(joining: [tag, UInt8(truncatingIfNeeded: secret.count)].span, secret.bytes)
        }
        let first = field(0x89, key)
        let content =
            switch next {
            case .some(let next): Secret(joining: first.bytes, field(0x8A, next).bytes)
            case .none: first.clone()
            }
        return Secret(joining: (tag.octets + [UInt8(truncatingIfNeeded: content.count)]).span, content.bytes)
    }
}
