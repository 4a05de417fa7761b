internal import Localization

extension AttributeDefinition {
    /// Every attribute, in the order of keychain semantics 1.2.
    public static let all =
        everyClass + passwords + genericPasswords + internetPasswords + certificates + keys + keyFlags

    /// The keychain's own columns, and columns that only Apple's keychain has. Callers may not name them.
    static let bookkeeping = Set(
        [
            "sha1", "vwht", "musr", "ggrp", "tomb", "UUID", "sysb", "clip", "pcss", "pcsk", "pcsi", "binn", "bini",
            "bin0", "bin1", "bin2", "bin3",
        ].map(Attribute.init(rawValue:)))

    private static let everyClass =
        rows(
            of: allClasses,
            [
                ("CreationDate", .creationDate, .date, .all, "when the item was added"),
                ("ModificationDate", .modificationDate, .date, [.add, .find], "when it was last changed"),
            ])
        + rows(
            of: allClasses,
            withOptions: [
                (
                    "Label", .label, .string, .all, "what people call it",
                    .init("l", "label", for: [.passwords, .findKey, .importing])
                )
            ])
        + rows(
            of: allClasses,
            [
                (
                    "Accessible", .accessible, .string, .all,
                    "when its secret can be read, and whether it may leave this machine"
                ),
                (
                    "AccessControl", .accessControl, .opaque, .all,
                    "what has to be shown before its secret is used"
                ),
                ("TokenID", .tokenID, .string, [.add, .find], "the token it is on; empty for a local item"),
                ("Alias", .alias, .data, .all, "another name, kept for programs that use it"),
            ])
        + rows(
            of: allClasses, unique: true,
            [
                ("AccessGroup", .accessGroup, .string, .all, "the programs it is for"),
                ("Synchronizable", .synchronizable, .number, .all, "1 for an item that other devices may have, else 0"),
            ])

    private static let allClasses: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key]

    private static let passwords =
        rows(
            of: [.genericPassword, .internetPassword], unique: true,
            withOptions: [("Account", .account, .string, .all, "the account name", .init("a", "account"))])
        + rows(
            of: [.genericPassword, .internetPassword],
            withOptions: [
                (
                    "Description", .itemDescription, .string, .all, "the kind of password",
                    .init("D", "kind", for: [.passwords, .findKey])
                ),
                (
                    "Comment", .comment, .string, .all, "the comment",
                    .init("j", "comment", for: [.passwords, .findKey])
                ),
                (
                    "Creator", .creator, .number, .all, "the program that made it, four characters as 'aapl'",
                    .init("c", "creator", as: .characters)
                ),
                (
                    "Type", .type, .number, .all, "the type, four characters of the program's choice",
                    .init("C", "type", as: .characters)
                ),
            ])
        + rows(
            of: [.genericPassword, .internetPassword],
            [
                ("ScriptCode", .scriptCode, .number, .all, "the character set of its texts in old items"),
                ("IsInvisible", .isInvisible, .boolean, .all, "whether lists leave it out"),
                ("IsNegative", .isNegative, .boolean, .all, "whether it says that there is no password"),
                ("HasCustomIcon", .hasCustomIcon, .boolean, .all, "whether it has an icon of its own"),
                ("Protected", .isProtected, .data, .all, "whether it is protected, in old items"),
            ])

    private static let genericPasswords =
        rows(
            of: [.genericPassword], unique: true,
            withOptions: [("Service", .service, .string, .all, "the service name", .init("s", "service"))])
        + rows(
            of: [.genericPassword],
            withOptions: [
                (
                    "Generic", .generic, .data, .all, "the generic attribute: data of the program's choice",
                    .init("G", "value")
                )
            ])

    private static let internetPasswords = rows(
        of: [.internetPassword], unique: true,
        withOptions: [
            (
                "SecurityDomain", .securityDomain, .string, .all,
                "the security domain, which is the realm of the login",
                .init("d", "domain")
            ),
            ("Server", .server, .string, .all, "the server's name or address", .init("s", "server")),
            (
                "Protocol", .protocol, .code, .all, "the protocol, four characters as 'htps'",
                .init("r", "protocol", as: .characters)
            ),
            (
                "AuthenticationType", .authenticationType, .code, .all, "how one logs in, four characters as 'form'",
                .init("t", "authentication-type", as: .characters)
            ),
            ("Port", .port, .number, .all, "the port", .init("P", "port", as: .number(upTo: 65_535))),
            ("Path", .path, .string, .all, "the path on the server", .init("p", "path")),
        ])

    private static let certificates =
        rows(
            of: [.certificate], unique: true,
            [
                ("CertificateType", .certificateType, .number, .all, "the X.509 version, 1 to 3"),
                ("Issuer", .issuer, .data, .all, "the issuer's name, normalised"),
                ("SerialNumber", .serialNumber, .data, .all, "the content octets of the serial number"),
            ])
        + rows(
            of: [.certificate],
            [
                ("CertificateEncoding", .certificateEncoding, .number, .all, "3, for DER"),
                ("Subject", .subject, .data, .all, "the subject's name, normalised"),
                ("SubjectKeyID", .subjectKeyID, .data, .all, "the subject key identifier"),
                (
                    "PublicKeyHash", .publicKeyHash, .data, .all,
                    "the SHA-1 of the public key, which pairs it with its key"
                ),
            ])

    private static let keys = rows(
        of: [.key], unique: true,
        withOptions: [
            (
                "KeyClass", .keyClass, .number, .all,
                "which half of a pair it is, if any: 0 public, 1 private, 2 symmetric",
                .init("t", "type", as: .keyClasses, for: [.findKey])
            ),
            (
                "ApplicationLabel", .applicationLabel, .data, .all,
                "the SHA-1 of the public key; of a symmetric key any name",
                .init("a", "label", as: .digits, for: [.findKey])
            ),
            ("ApplicationTag", .applicationTag, .data, .all, "data of the program's choice to find it by", nil),
            (
                "Creator", .creator, .number, .all, "the program that made it, four characters as 'aapl'",
                .init("c", "creator", as: .characters, for: [.findKey])
            ),
            (
                "KeyType", .keyType, .number, .all,
                "the kind of key: 42 RSA, 73 EC, 91 HMAC, 105 Ed25519, 106 X25519, 107 Ed448, 108 X448, 2147483649 AES",
                .init("a", "algorithm", as: .keyTypes, for: [.createKeypair])
            ),
            (
                "KeySizeInBits", .keySizeInBits, .number, .all, "the size in bits",
                .init("s", "size", as: .number(upTo: 4_294_967_295), for: [.createKeypair])
            ),
            (
                "EffectiveKeySize", .effectiveKeySize, .number, .all, "the size that counts for its strength, in bits",
                nil
            ),
            (
                "StartDate", .startDate, .date, .all, "when it becomes valid",
                .init("f", "date", as: .date, for: [.createKeypair])
            ),
            (
                "EndDate", .endDate, .date, .all, "when it ends to be valid",
                .init("t", "date", as: .date, for: [.createKeypair])
            ),
        ])

    private static let keyFlags =
        rows(
            of: [.key],
            [
                ("IsPermanent", .isPermanent, .boolean, .all, "whether it is stored"),
                ("IsPrivate", .isPrivate, .boolean, .all, "whether it is the private half"),
                ("IsModifiable", .isModifiable, .boolean, .all, "whether it can be changed"),
                ("IsSensitive", .isSensitive, .boolean, .all, "whether it leaves the keychain only encrypted"),
                (
                    "WasAlwaysSensitive", .wasAlwaysSensitive, .boolean, .all,
                    "whether it never was anything but sensitive"
                ),
                ("IsExtractable", .isExtractable, .boolean, .all, "whether it can be read out"),
                ("WasNeverExtractable", .wasNeverExtractable, .boolean, .all, "whether it never could be read out"),
            ])
        + rows(
            of: [.key],
            withOptions: [
                ("CanEncrypt", .canEncrypt, .boolean, .all, "whether it encrypts", .ability("e")),
                ("CanDecrypt", .canDecrypt, .boolean, .all, "whether it decrypts", .ability("d")),
                ("CanDerive", .canDerive, .boolean, .all, "whether it agrees on other keys", .ability("r")),
                ("CanSign", .canSign, .boolean, .all, "whether it signs", .ability("s")),
                ("CanVerify", .canVerify, .boolean, .all, "whether it verifies signatures", .ability("v")),
                (
                    "CanSignRecover", .canSignRecover, .boolean, .all,
                    "whether it signs so that the message can be recovered", nil
                ),
                (
                    "CanVerifyRecover", .canVerifyRecover, .boolean, .all,
                    "whether it recovers messages from signatures", nil
                ),
                ("CanWrap", .canWrap, .boolean, .all, "whether it encrypts other keys", .ability("w")),
                ("CanUnwrap", .canUnwrap, .boolean, .all, "whether it decrypts other keys", .ability("u")),
            ])

    private typealias Row = (String, Attribute, AttributeType, Uses, LocalizedKey)
    private typealias RowWithOption = (String, Attribute, AttributeType, Uses, LocalizedKey, AttributeOption?)

    private static func rows(of classes: [ItemClass], unique: Bool = false, _ rows: [Row]) -> [AttributeDefinition] {
        self.rows(of: classes, unique: unique, withOptions: rows.map { ($0, $1, $2, $3, $4, nil) })
    }

    private static func rows(
        of classes: [ItemClass], unique: Bool = false, withOptions rows: [RowWithOption]
    ) -> [AttributeDefinition] {
        rows.map { name, attribute, type, uses, summary, option in
            AttributeDefinition(
                attribute: attribute, name: name, type: type, classes: classes, isUnique: unique, uses: uses,
                summary: summary, option: option)
        }
    }
}
