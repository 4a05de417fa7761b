internal import KeychainModel
internal import KeychainCalls

// The types of SecKeychain.h and SecKeychainItem.h.

public typealias FourCharCode = UInt32
public typealias SecKeychainAttrType = FourCharCode
public typealias SecKeychainStatus = UInt32

public let kSecUnlockStateStatus: SecKeychainStatus = 1
public let kSecReadPermStatus: SecKeychainStatus = 2
public let kSecWritePermStatus: SecKeychainStatus = 4

/// The classes of passwords.
public enum SecItemClass: FourCharCode, Sendable {
    case internetPasswordItemClass = 0x696E6574
    case genericPasswordItemClass = 0x67656E70
}

/// The tags of attributes.
public enum SecItemAttr: FourCharCode, Sendable {
    case creationDateItemAttr = 0x63646174
    case modDateItemAttr = 0x6D646174
    case descriptionItemAttr = 0x64657363
    case commentItemAttr = 0x69636D74
    case creatorItemAttr = 0x63727472
    case typeItemAttr = 0x74797065
    case labelItemAttr = 0x6C61626C
    case accountItemAttr = 0x61636374
    case serviceItemAttr = 0x73766365
    case genericItemAttr = 0x67656E61
    case securityDomainItemAttr = 0x73646D6E
    case serverItemAttr = 0x73727672
    case authenticationTypeItemAttr = 0x61747970
    case portItemAttr = 0x706F7274
    case pathItemAttr = 0x70617468
    case protocolItemAttr = 0x7074636C
}

public enum SecProtocolType: FourCharCode, Sendable {
    /// Matches every protocol.
    case any = 0
    case FTP = 0x66747020
    case FTPAccount = 0x66747061
    case HTTP = 0x68747470
    case IRC = 0x69726320
    case NNTP = 0x6E6E7470
    case POP3 = 0x706F7033
    case SMTP = 0x736D7470
    case SOCKS = 0x736F7820
    case IMAP = 0x696D6170
    case LDAP = 0x6C646170
    case appleTalk = 0x61746C6B
    case AFP = 0x61667020
    case telnet = 0x74656C6E
    case SSH = 0x73736820
    case FTPS = 0x66747073
    case HTTPS = 0x68747073
    case HTTPProxy = 0x68747078
    case HTTPSProxy = 0x68747378
    case FTPProxy = 0x66747078
    case SMB = 0x736D6220
    case RTSP = 0x72747370
    case RTSPProxy = 0x72747378
    case DAAP = 0x64616170
    case EPPC = 0x65707063
    case IPP = 0x69707020
    case NNTPS = 0x6E747073
    case LDAPS = 0x6C647073
    case telnetS = 0x74656C73
    case IMAPS = 0x696D7073
    case IRCS = 0x69726373
    case POP3S = 0x706F7073
}

public enum SecAuthenticationType: FourCharCode, Sendable {
    /// Matches every type.
    case any = 0
    case NTLM = 0x6E746C6D
    case MSN = 0x6D736E61
    case DPA = 0x64706161
    case RPA = 0x72706161
    case httpBasic = 0x68747470
    case httpDigest = 0x68747464
    case htmlForm = 0x666F726D
    case `default` = 0x64666C74
}

/// One attribute of an item. Text has no final zero; a number is a `UInt32`, as is a code of four characters.
@unsafe public struct SecKeychainAttribute {
    public var tag: SecKeychainAttrType
    public var length: UInt32
    public var data: UnsafeMutableRawPointer?

    public init(tag: SecKeychainAttrType = 0, length: UInt32 = 0, data: UnsafeMutableRawPointer? = nil) {
        unsafe (self.tag, self.length) = (tag, length)
        unsafe self.data = data
    }

    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for data that are not a value of the attribute.
    func value(in itemClass: ItemClass) throws(KeychainError) -> AttributeValue {
        try unsafe itemClass.value(ofTag: tag, data, length: length)
    }

    /// Copies the value of an item. An absent value empties the field.
    mutating func fill(from item: Item) throws(KeychainError) {
        unsafe (length, data) = (0, nil)
        guard let bytes = unsafe item.data(of: Attribute(tag: tag)) else { return }
        unsafe data = try CallerMemory.copy(bytes.span)
        unsafe length = UInt32(clamping: bytes.count)
    }

    mutating func clear() {
        unsafe CallerMemory.free(data)
        unsafe (length, data) = (0, nil)
    }
}

@unsafe public struct SecKeychainAttributeList {
    public var count: UInt32
    public var attr: UnsafeMutablePointer<SecKeychainAttribute>?

    public init(count: UInt32 = 0, attr: UnsafeMutablePointer<SecKeychainAttribute>? = nil) {
        unsafe self.count = count
        unsafe self.attr = attr
    }
}

/// The attributes that are wanted; `format` may be nil.
@unsafe public struct SecKeychainAttributeInfo {
    public var count: UInt32
    public var tag: UnsafeMutablePointer<UInt32>?
    public var format: UnsafeMutablePointer<UInt32>?

    public init(
        count: UInt32 = 0, tag: UnsafeMutablePointer<UInt32>? = nil, format: UnsafeMutablePointer<UInt32>? = nil
    ) {
        unsafe self.count = count
        unsafe self.tag = tag
        unsafe self.format = format
    }
}

/// The conditions on which a keychain locks by itself.
public struct SecKeychainSettings: Sendable {
    public var version: UInt32
    public var lockOnSleep: DarwinBoolean
    public var useLockInterval: DarwinBoolean
    /// The time without use after which it locks, in seconds.
    public var lockInterval: UInt32

    public init(
        version: UInt32 = SEC_KEYCHAIN_SETTINGS_VERS1, lockOnSleep: DarwinBoolean = false,
        useLockInterval: DarwinBoolean = false, lockInterval: UInt32 = .max
    ) {
        self.version = version
        self.lockOnSleep = lockOnSleep
        self.useLockInterval = useLockInterval
        self.lockInterval = lockInterval
    }
}

public let SEC_KEYCHAIN_SETTINGS_VERS1: UInt32 = 1
