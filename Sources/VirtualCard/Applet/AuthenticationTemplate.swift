internal import SecureBytes
internal import TokenKit

/// The dynamic authentication template, `7C`, of GENERAL AUTHENTICATE. SP 800-73-5 part 2 table 7.
///
/// Each field is nil where it is absent; an empty one asks the card to fill it in.
struct AuthenticationTemplate {
    static let tag: TLVTag = 0x7C
    private static let witnessTag: TLVTag = 0x80
    private static let challengeTag: TLVTag = 0x81
    private static let responseTag: TLVTag = 0x82
    private static let exponentiationTag: TLVTag = 0x85

    var witness: [UInt8]?
    var challenge: [UInt8]?
    var response: [UInt8]?
    var exponentiation: [UInt8]?

    init(parsing bytes: [UInt8]) throws(TLVError) {
        var reader = try TLVReader.only(AuthenticationTemplate.tag, in: bytes).children()
        for field in try reader.all() {
            switch field.tag {
            case AuthenticationTemplate.witnessTag: witness = field.value
            case AuthenticationTemplate.challengeTag: challenge = field.value
            case AuthenticationTemplate.responseTag: response = field.value
            case AuthenticationTemplate.exponentiationTag: exponentiation = field.value
            default: throw TLVError(.missing, tag: field.tag)
            }
        }
    }

    /// An answer of one field.
    static func response(_ value: [UInt8]) -> ResponseAPDU { answer(responseTag, value) }
    static func challenge(_ value: [UInt8]) -> ResponseAPDU { answer(challengeTag, value) }
    static func witness(_ value: [UInt8]) -> ResponseAPDU { answer(witnessTag, value) }

    private static func answer(_ field: TLVTag, _ value: [UInt8]) -> ResponseAPDU {
        .success(TLV(tag, [TLV(field, value)]).encoded())
    }
}
