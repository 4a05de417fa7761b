/// The values of `ptcl`: the protocol of a server. Any four characters are valid.
public struct InternetProtocol: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The protocol as a value of `ptcl`.
    public var value: AttributeValue { .string(rawValue) }

    /// The protocols with a name in Apple's headers, by the part after `kSecAttrProtocol`.
    public static let named: [(name: String, value: InternetProtocol)] = [
        ("FTP", "ftp "), ("FTPAccount", "ftpa"), ("HTTP", "http"), ("IRC", "irc "), ("NNTP", "nntp"),
        ("POP3", "pop3"), ("SMTP", "smtp"), ("SOCKS", "sox "), ("IMAP", "imap"), ("LDAP", "ldap"),
        ("AppleTalk", "atlk"), ("AFP", "afp "), ("Telnet", "teln"), ("SSH", "ssh "), ("FTPS", "ftps"),
        ("HTTPS", "htps"), ("HTTPProxy", "htpx"), ("HTTPSProxy", "htsx"), ("FTPProxy", "ftpx"), ("SMB", "smb "),
        ("RTSP", "rtsp"), ("RTSPProxy", "rtsx"), ("DAAP", "daap"), ("EPPC", "eppc"), ("IPP", "ipp "),
        ("NNTPS", "ntps"), ("LDAPS", "ldps"), ("TelnetS", "tels"), ("IMAPS", "imps"), ("IRCS", "ircs"),
        ("POP3S", "pops"),
    ].map { ($0, InternetProtocol(rawValue: $1)) }
}

/// The values of `atyp`: the way to log in to a server. Any four characters are valid.
public struct InternetAuthentication: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The authentication type as a value of `atyp`.
    public var value: AttributeValue { .string(rawValue) }

    /// The authentication types with a name in Apple's headers, by the part after `kSecAttrAuthenticationType`.
    public static let named: [(name: String, value: InternetAuthentication)] = [
        ("NTLM", "ntlm"), ("MSN", "msna"), ("DPA", "dpaa"), ("RPA", "rpaa"), ("HTTPBasic", "http"),
        ("HTTPDigest", "httd"), ("HTMLForm", "form"), ("Default", "dflt"),
    ].map { ($0, InternetAuthentication(rawValue: $1)) }
}
