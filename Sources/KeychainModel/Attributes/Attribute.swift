/// An attribute of a keychain item, by the four-character code `SecItem` stores it under.
///
/// Any text can be an attribute, so that an error can name an unknown one; ``ItemClass/attributes`` lists those that exist.
public struct Attribute: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    /// The first eight bytes of the code as a number, zeros behind a shorter one. Dictionaries of attributes are looked into dozens of times
    /// for one search, and a number is hashed and compared in a fraction of the time that a text takes.
    private let number: UInt64

    public init(rawValue: String) {
        self.rawValue = rawValue
        var (number, shift): (UInt64, UInt64) = (0, 64)
        for byte in rawValue.utf8 where shift > 0 {
            shift -= 8
            number |= UInt64(byte) << shift
        }
        self.number = number
    }

    private init(_ rawValue: String) {
        self.init(rawValue: rawValue)
    }

    public static func == (left: Attribute, right: Attribute) -> Bool {
        left.number == right.number && left.rawValue == right.rawValue
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(number)
    }

    // MARK: Every class

    public static let creationDate = Attribute("cdat")
    public static let modificationDate = Attribute("mdat")
    public static let label = Attribute("labl")
    public static let accessGroup = Attribute("agrp")
    public static let accessible = Attribute("pdmn")
    public static let accessControl = Attribute("accc")
    public static let synchronizable = Attribute("sync")
    public static let tokenID = Attribute("tkid")
    public static let alias = Attribute("alis")

    // MARK: Passwords

    public static let account = Attribute("acct")
    public static let service = Attribute("svce")
    public static let itemDescription = Attribute("desc")
    public static let comment = Attribute("icmt")
    public static let creator = Attribute("crtr")
    public static let type = Attribute("type")
    public static let scriptCode = Attribute("scrp")
    public static let isInvisible = Attribute("invi")
    public static let isNegative = Attribute("nega")
    public static let hasCustomIcon = Attribute("cusi")
    public static let isProtected = Attribute("prot")
    public static let generic = Attribute("gena")
    public static let securityDomain = Attribute("sdmn")
    public static let server = Attribute("srvr")
    public static let `protocol` = Attribute("ptcl")
    public static let authenticationType = Attribute("atyp")
    public static let port = Attribute("port")
    public static let path = Attribute("path")

    // MARK: Certificates

    public static let certificateType = Attribute("ctyp")
    public static let certificateEncoding = Attribute("cenc")
    public static let subject = Attribute("subj")
    public static let issuer = Attribute("issr")
    public static let serialNumber = Attribute("slnr")
    public static let subjectKeyID = Attribute("skid")
    public static let publicKeyHash = Attribute("pkhh")

    // MARK: Keys

    public static let keyClass = Attribute("kcls")
    public static let applicationLabel = Attribute("klbl")
    public static let applicationTag = Attribute("atag")
    /// The kind of key; the code is the one passwords use for their type.
    public static let keyType = Attribute("type")
    public static let keySizeInBits = Attribute("bsiz")
    public static let effectiveKeySize = Attribute("esiz")
    public static let startDate = Attribute("sdat")
    public static let endDate = Attribute("edat")
    public static let isPermanent = Attribute("perm")
    public static let isPrivate = Attribute("priv")
    public static let isModifiable = Attribute("modi")
    public static let isSensitive = Attribute("sens")
    public static let wasAlwaysSensitive = Attribute("asen")
    public static let isExtractable = Attribute("extr")
    public static let wasNeverExtractable = Attribute("next")
    public static let canEncrypt = Attribute("encr")
    public static let canDecrypt = Attribute("decr")
    public static let canDerive = Attribute("drve")
    public static let canSign = Attribute("sign")
    public static let canVerify = Attribute("vrfy")
    public static let canSignRecover = Attribute("snrc")
    public static let canVerifyRecover = Attribute("vyrc")
    public static let canWrap = Attribute("wrap")
    public static let canUnwrap = Attribute("unwp")
}

extension Attribute: CustomStringConvertible, Comparable {
    public var description: String { rawValue }

    /// The order of the codes' bytes, which the stored and authenticated form relies on.
    public static func < (left: Attribute, right: Attribute) -> Bool {
        if left.number != right.number { return left.number < right.number }
        return left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
}
