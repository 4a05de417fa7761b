// Apple's constants with the strings that they have on Apple platforms. SecItem.h, SecItemPriv.h; keychain semantics 1.1
// to 1.5.

// MARK: Item classes, the values of ``kSecClass``

public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecClassInternetPassword: CFString = "inet"
public let kSecClassCertificate: CFString = "cert"
public let kSecClassKey: CFString = "keys"
public let kSecClassIdentity: CFString = "idnt"

// MARK: Attributes of items

public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessControl: CFString = "accc"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrSynchronizable: CFString = "sync"
public let kSecAttrCreationDate: CFString = "cdat"
public let kSecAttrModificationDate: CFString = "mdat"
public let kSecAttrDescription: CFString = "desc"
public let kSecAttrComment: CFString = "icmt"
public let kSecAttrCreator: CFString = "crtr"
public let kSecAttrType: CFString = "type"
public let kSecAttrLabel: CFString = "labl"
public let kSecAttrIsInvisible: CFString = "invi"
public let kSecAttrIsNegative: CFString = "nega"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrService: CFString = "svce"
public let kSecAttrGeneric: CFString = "gena"
public let kSecAttrSecurityDomain: CFString = "sdmn"
public let kSecAttrServer: CFString = "srvr"
public let kSecAttrProtocol: CFString = "ptcl"
public let kSecAttrAuthenticationType: CFString = "atyp"
public let kSecAttrPort: CFString = "port"
public let kSecAttrPath: CFString = "path"
public let kSecAttrSubject: CFString = "subj"
public let kSecAttrIssuer: CFString = "issr"
public let kSecAttrSerialNumber: CFString = "slnr"
public let kSecAttrSubjectKeyID: CFString = "skid"
public let kSecAttrPublicKeyHash: CFString = "pkhh"
public let kSecAttrCertificateType: CFString = "ctyp"
public let kSecAttrCertificateEncoding: CFString = "cenc"
public let kSecAttrKeyClass: CFString = "kcls"
public let kSecAttrApplicationLabel: CFString = "klbl"
public let kSecAttrIsPermanent: CFString = "perm"
public let kSecAttrIsSensitive: CFString = "sens"
public let kSecAttrIsExtractable: CFString = "extr"
public let kSecAttrApplicationTag: CFString = "atag"
public let kSecAttrKeyType: CFString = "type"
public let kSecAttrKeySizeInBits: CFString = "bsiz"
public let kSecAttrEffectiveKeySize: CFString = "esiz"
public let kSecAttrCanEncrypt: CFString = "encr"
public let kSecAttrCanDecrypt: CFString = "decr"
public let kSecAttrCanDerive: CFString = "drve"
public let kSecAttrCanSign: CFString = "sign"
public let kSecAttrCanVerify: CFString = "vrfy"
public let kSecAttrCanWrap: CFString = "wrap"
public let kSecAttrCanUnwrap: CFString = "unwp"
public let kSecAttrTokenID: CFString = "tkid"

// Apple's attributes that no item has here. A dictionary with one of them is refused.

public let kSecAttrSyncViewHint: CFString = "vwht"
public let kSecAttrAccess: CFString = "acls"
public let kSecAttrPRF: CFString = "prf"
public let kSecAttrSalt: CFString = "salt"
public let kSecAttrRounds: CFString = "rounds"
public let kSecAttrPersistentReference: CFString = "persistref"

// Attributes of older keychain files, which only SecItem's own headers know.

public let kSecAttrAlias: CFString = "alis"
public let kSecAttrHasCustomIcon: CFString = "cusi"
public let kSecAttrProtected: CFString = "prot"
public let kSecAttrScriptCode: CFString = "scrp"
public let kSecAttrStartDate: CFString = "sdat"
public let kSecAttrEndDate: CFString = "edat"
public let kSecAttrIsPrivate: CFString = "priv"
public let kSecAttrIsModifiable: CFString = "modi"
public let kSecAttrWasAlwaysSensitive: CFString = "asen"
public let kSecAttrWasNeverExtractable: CFString = "next"
public let kSecAttrCanSignRecover: CFString = "snrc"
public let kSecAttrCanVerifyRecover: CFString = "vyrc"

// MARK: Values of ``kSecAttrAccessible``

public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
public let kSecAttrAccessibleAlways: CFString = "dk"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"

// MARK: Values of ``kSecAttrSynchronizable``, ``kSecAttrAccessGroup`` and ``kSecAttrTokenID``

public let kSecAttrSynchronizableAny: CFString = "syna"
public let kSecAttrAccessGroupToken: CFString = "com.apple.token"
public let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"

// MARK: Values of ``kSecAttrProtocol``

public let kSecAttrProtocolFTP: CFString = "ftp "
public let kSecAttrProtocolFTPAccount: CFString = "ftpa"
public let kSecAttrProtocolHTTP: CFString = "http"
public let kSecAttrProtocolIRC: CFString = "irc "
public let kSecAttrProtocolNNTP: CFString = "nntp"
public let kSecAttrProtocolPOP3: CFString = "pop3"
public let kSecAttrProtocolSMTP: CFString = "smtp"
public let kSecAttrProtocolSOCKS: CFString = "sox "
public let kSecAttrProtocolIMAP: CFString = "imap"
public let kSecAttrProtocolLDAP: CFString = "ldap"
public let kSecAttrProtocolAppleTalk: CFString = "atlk"
public let kSecAttrProtocolAFP: CFString = "afp "
public let kSecAttrProtocolTelnet: CFString = "teln"
public let kSecAttrProtocolSSH: CFString = "ssh "
public let kSecAttrProtocolFTPS: CFString = "ftps"
public let kSecAttrProtocolHTTPS: CFString = "htps"
public let kSecAttrProtocolHTTPProxy: CFString = "htpx"
public let kSecAttrProtocolHTTPSProxy: CFString = "htsx"
public let kSecAttrProtocolFTPProxy: CFString = "ftpx"
public let kSecAttrProtocolSMB: CFString = "smb "
public let kSecAttrProtocolRTSP: CFString = "rtsp"
public let kSecAttrProtocolRTSPProxy: CFString = "rtsx"
public let kSecAttrProtocolDAAP: CFString = "daap"
public let kSecAttrProtocolEPPC: CFString = "eppc"
public let kSecAttrProtocolIPP: CFString = "ipp "
public let kSecAttrProtocolNNTPS: CFString = "ntps"
public let kSecAttrProtocolLDAPS: CFString = "ldps"
public let kSecAttrProtocolTelnetS: CFString = "tels"
public let kSecAttrProtocolIMAPS: CFString = "imps"
public let kSecAttrProtocolIRCS: CFString = "ircs"
public let kSecAttrProtocolPOP3S: CFString = "pops"

// MARK: Values of ``kSecAttrAuthenticationType``

public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
public let kSecAttrAuthenticationTypeMSN: CFString = "msna"
public let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"
public let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"
public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"
public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"
public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
public let kSecAttrAuthenticationTypeDefault: CFString = "dflt"

// MARK: Values of ``kSecAttrKeyClass`` and ``kSecAttrKeyType``, and the parts of a key pair to be made

public let kSecAttrKeyClassPublic: CFString = "0"
public let kSecAttrKeyClassPrivate: CFString = "1"
public let kSecAttrKeyClassSymmetric: CFString = "2"
public let kSecAttrKeyTypeRSA: CFString = "42"
public let kSecAttrKeyTypeEC: CFString = "73"
/// Apple's old name of a key type with the number of EC keys.
public let kSecAttrKeyTypeECDSA: CFString = "73"
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
public let kSecAttrKeyTypeAES: CFString = "2147483649"
/// A symmetric key that signs and verifies by HMAC. Apple has no constant for it.
public let kSecAttrKeyTypeHMAC: CFString = "91"
// Keys of these types are in no keychain here: generating or importing one is refused by its type.
public let kSecAttrKeyTypeDES: CFString = "14"
public let kSecAttrKeyType3DES: CFString = "17"
public let kSecAttrKeyTypeRC2: CFString = "23"
public let kSecAttrKeyTypeRC4: CFString = "25"
public let kSecAttrKeyTypeDSA: CFString = "43"
public let kSecAttrKeyTypeCAST: CFString = "56"
public let kSecPrivateKeyAttrs: CFString = "private"
public let kSecPublicKeyAttrs: CFString = "public"

// MARK: Conditions of a search beside attributes, and its limit

public let kSecMatchPolicy: CFString = "m_Policy"
public let kSecMatchItemList: CFString = "m_ItemList"
public let kSecMatchSearchList: CFString = "m_SearchList"
public let kSecMatchIssuers: CFString = "m_Issuers"
public let kSecMatchEmailAddressIfPresent: CFString = "m_EmailAddressIfPresent"
public let kSecMatchSubjectContains: CFString = "m_SubjectContains"
public let kSecMatchSubjectStartsWith: CFString = "m_SubjectStartsWith"
public let kSecMatchSubjectEndsWith: CFString = "m_SubjectEndsWith"
public let kSecMatchSubjectWholeString: CFString = "m_SubjectWholeString"
public let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"
public let kSecMatchDiacriticInsensitive: CFString = "m_DiacriticInsensitive"
public let kSecMatchWidthInsensitive: CFString = "m_WidthInsensitive"
public let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"
public let kSecMatchValidOnDate: CFString = "m_ValidOnDate"
public let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"
public let kSecMatchLimit: CFString = "m_Limit"
public let kSecMatchLimitOne: CFString = "m_LimitOne"
public let kSecMatchLimitAll: CFString = "m_LimitAll"

// MARK: The parts of a result

public let kSecReturnData: CFString = "r_Data"
public let kSecReturnAttributes: CFString = "r_Attributes"
public let kSecReturnRef: CFString = "r_Ref"
public let kSecReturnPersistentRef: CFString = "r_PersistentRef"

// MARK: An item itself, as data or by reference

public let kSecValueData: CFString = "v_Data"
public let kSecValueRef: CFString = "v_Ref"
public let kSecValuePersistentRef: CFString = "v_PersistentRef"

// MARK: Rules for a call

public let kSecUseItemList: CFString = "u_ItemList"
public let kSecUseKeychain: CFString = "u_Keychain"
public let kSecUseOperationPrompt: CFString = "u_OpPrompt"
public let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"
public let kSecUseAuthenticationUI: CFString = "u_AuthUI"
public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"
public let kSecUseDataProtectionKeychain: CFString = "nleg"
public let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"
public let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"
public let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"
