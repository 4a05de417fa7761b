import SecItem
import Testing

/// Keychain semantics 1.1 to 1.7: the strings behind the constants. Programs write either of them.
@Suite struct ConstantTests {
    private static let names: [(String, String)] = [
        (kSecClass, "class"), (kSecClassGenericPassword, "genp"), (kSecClassInternetPassword, "inet"),
        (kSecClassCertificate, "cert"), (kSecClassKey, "keys"), (kSecClassIdentity, "idnt"),
        (kSecAttrLabel, "labl"), (kSecAttrDescription, "desc"), (kSecAttrComment, "icmt"), (kSecAttrCreator, "crtr"),
        (kSecAttrType, "type"), (kSecAttrIsInvisible, "invi"), (kSecAttrIsNegative, "nega"),
        (kSecAttrAccount, "acct"), (kSecAttrService, "svce"), (kSecAttrGeneric, "gena"),
        (kSecAttrSecurityDomain, "sdmn"), (kSecAttrServer, "srvr"), (kSecAttrProtocol, "ptcl"),
        (kSecAttrAuthenticationType, "atyp"), (kSecAttrPort, "port"), (kSecAttrPath, "path"),
        (kSecAttrCertificateType, "ctyp"), (kSecAttrCertificateEncoding, "cenc"), (kSecAttrSubject, "subj"),
        (kSecAttrIssuer, "issr"), (kSecAttrSerialNumber, "slnr"), (kSecAttrSubjectKeyID, "skid"),
        (kSecAttrPublicKeyHash, "pkhh"), (kSecAttrKeyClass, "kcls"), (kSecAttrApplicationLabel, "klbl"),
        (kSecAttrIsPermanent, "perm"), (kSecAttrApplicationTag, "atag"), (kSecAttrKeyType, "type"),
        (kSecAttrKeySizeInBits, "bsiz"), (kSecAttrEffectiveKeySize, "esiz"), (kSecAttrCanEncrypt, "encr"),
        (kSecAttrCanDecrypt, "decr"), (kSecAttrCanDerive, "drve"), (kSecAttrCanSign, "sign"),
        (kSecAttrCanVerify, "vrfy"), (kSecAttrCanWrap, "wrap"), (kSecAttrCanUnwrap, "unwp"),
        (kSecAttrIsSensitive, "sens"), (kSecAttrIsExtractable, "extr"), (kSecAttrTokenID, "tkid"),
        (kSecAttrAccessGroup, "agrp"), (kSecAttrAccessible, "pdmn"), (kSecAttrAccessControl, "accc"),
        (kSecAttrSynchronizable, "sync"), (kSecAttrCreationDate, "cdat"), (kSecAttrModificationDate, "mdat"),
        (kSecAttrAccessibleWhenUnlocked, "ak"), (kSecAttrAccessibleAfterFirstUnlock, "ck"),
        (kSecAttrAccessibleAlways, "dk"), (kSecAttrAccessibleWhenUnlockedThisDeviceOnly, "aku"),
        (kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, "cku"), (kSecAttrAccessibleAlwaysThisDeviceOnly, "dku"),
        (kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, "akpu"), (kSecAttrSynchronizableAny, "syna"),
        (kSecAttrAccessGroupToken, "com.apple.token"), (kSecAttrTokenIDSecureEnclave, "com.apple.setoken"),
        (kSecAttrKeyClassPublic, "0"), (kSecAttrKeyClassPrivate, "1"), (kSecAttrKeyClassSymmetric, "2"),
        (kSecAttrKeyTypeRSA, "42"), (kSecAttrKeyTypeECSECPrimeRandom, "73"), (kSecAttrKeyTypeEC, "73"),
        (kSecAttrKeyTypeECDSA, "73"), (kSecAttrKeyTypeDES, "14"), (kSecAttrKeyType3DES, "17"),
        (kSecAttrKeyTypeRC2, "23"),
        (kSecAttrKeyTypeRC4, "25"), (kSecAttrKeyTypeDSA, "43"), (kSecAttrKeyTypeCAST, "56"), (kSecAttrAccess, "acls"),
        (kSecAttrPRF, "prf"), (kSecAttrSalt, "salt"), (kSecAttrRounds, "rounds"), (kSecImportToMemoryOnly, "memory"),
        (kSecAttrKeyTypeAES, "2147483649"), (kSecAttrKeyTypeHMAC, "91"),
        (kSecMatchLimit, "m_Limit"), (kSecMatchLimitOne, "m_LimitOne"), (kSecMatchLimitAll, "m_LimitAll"),
        (kSecMatchCaseInsensitive, "m_CaseInsensitive"), (kSecMatchDiacriticInsensitive, "m_DiacriticInsensitive"),
        (kSecMatchWidthInsensitive, "m_WidthInsensitive"), (kSecMatchSubjectContains, "m_SubjectContains"),
        (kSecMatchSubjectStartsWith, "m_SubjectStartsWith"), (kSecMatchSubjectEndsWith, "m_SubjectEndsWith"),
        (kSecMatchSubjectWholeString, "m_SubjectWholeString"), (kSecMatchIssuers, "m_Issuers"),
        (kSecMatchEmailAddressIfPresent, "m_EmailAddressIfPresent"), (kSecMatchPolicy, "m_Policy"),
        (kSecMatchValidOnDate, "m_ValidOnDate"), (kSecMatchTrustedOnly, "m_TrustedOnly"),
        (kSecMatchHostOrSubdomainOfHost, "m_HostOrSubdomainOfHost"), (kSecMatchItemList, "m_ItemList"),
        (kSecMatchSearchList, "m_SearchList"), (kSecReturnData, "r_Data"), (kSecReturnAttributes, "r_Attributes"),
        (kSecReturnRef, "r_Ref"), (kSecReturnPersistentRef, "r_PersistentRef"), (kSecValueData, "v_Data"),
        (kSecValueRef, "v_Ref"), (kSecValuePersistentRef, "v_PersistentRef"), (kSecUseItemList, "u_ItemList"),
        (kSecUseAuthenticationUI, "u_AuthUI"), (kSecUseAuthenticationUIAllow, "u_AuthUIA"),
        (kSecUseAuthenticationUIFail, "u_AuthUIF"), (kSecUseAuthenticationUISkip, "u_AuthUIS"),
        (kSecUseAuthenticationContext, "u_AuthCtx"), (kSecUseNoAuthenticationUI, "u_NoAuthUI"),
        (kSecUseOperationPrompt, "u_OpPrompt"), (kSecUseDataProtectionKeychain, "nleg"),
        (kSecPolicyName, "SecPolicyName"), (kSecPolicyClient, "SecPolicyClient"),
        (kSecImportExportPassphrase, "passphrase"), (kSecImportItemLabel, "label"), (kSecImportItemKeyID, "keyid"),
        (kSecImportItemCertChain, "chain"), (kSecImportItemIdentity, "identity"),
    ]

    @Test func oldNamesOfFlagsAreTheirNewOnes() {
        #expect(SecAccessControlCreateFlags.touchIDAny == .biometryAny)
        #expect(SecAccessControlCreateFlags.touchIDCurrentSet == .biometryCurrentSet)
        #expect(SecAccessControlCreateFlags.watch == .companion)
    }

    @Test func rule1_2_namesStandForTheirColumnsAndKeys() {
        for (constant, string) in Self.names { #expect(constant == string) }
    }

    @Test func rule1_2_protocolsAndAuthenticationsStandForTheirCodes() {
        let protocols = [
            kSecAttrProtocolFTP, kSecAttrProtocolFTPAccount, kSecAttrProtocolHTTP, kSecAttrProtocolIRC,
            kSecAttrProtocolNNTP, kSecAttrProtocolPOP3, kSecAttrProtocolSMTP, kSecAttrProtocolSOCKS,
            kSecAttrProtocolIMAP, kSecAttrProtocolLDAP, kSecAttrProtocolAppleTalk, kSecAttrProtocolAFP,
            kSecAttrProtocolTelnet, kSecAttrProtocolSSH, kSecAttrProtocolFTPS, kSecAttrProtocolHTTPS,
            kSecAttrProtocolHTTPProxy, kSecAttrProtocolHTTPSProxy, kSecAttrProtocolFTPProxy, kSecAttrProtocolSMB,
            kSecAttrProtocolRTSP, kSecAttrProtocolRTSPProxy, kSecAttrProtocolDAAP, kSecAttrProtocolEPPC,
            kSecAttrProtocolIPP, kSecAttrProtocolNNTPS, kSecAttrProtocolLDAPS, kSecAttrProtocolTelnetS,
            kSecAttrProtocolIMAPS, kSecAttrProtocolIRCS, kSecAttrProtocolPOP3S,
        ]
        let codes = """
            ftp |ftpa|http|irc |nntp|pop3|smtp|sox |imap|ldap|atlk|afp |teln|ssh |ftps|htps|htpx|htsx|ftpx|smb |rtsp|rtsx|\
            daap|eppc|ipp |ntps|ldps|tels|imps|ircs|pops
            """
        #expect(protocols == codes.split(separator: "|").map(String.init))
        let authentications = [
            kSecAttrAuthenticationTypeNTLM, kSecAttrAuthenticationTypeMSN, kSecAttrAuthenticationTypeDPA,
            kSecAttrAuthenticationTypeRPA, kSecAttrAuthenticationTypeHTTPBasic,
            kSecAttrAuthenticationTypeHTTPDigest, kSecAttrAuthenticationTypeHTMLForm,
            kSecAttrAuthenticationTypeDefault,
        ]
        #expect(authentications == ["ntlm", "msna", "dpaa", "rpaa", "http", "httd", "form", "dflt"])
    }
}
