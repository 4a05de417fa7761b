public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// The answer to a ``HostRequest``.
public enum HostAnswer: Sendable, Equatable {
    case done
    case failed(KeychainError)
    case keychains(Outcome<[KeychainDescription]>)
    case items(Outcome<[Item]>)
    case identities(Outcome<[Identity]>)
    /// The secret of an item, the result of a key's operation, or an exported file.
    case secret(SharedSecret?)
    case changed(Outcome<ChangeResult>)
    case locked(missing: [Missing])
    case events(EventPage)
    case keychain(KeychainDetails)
    case explanation(Explanation)
    case path(String)
    case choice(KeychainChoice)
    case presenceProof(PresenceProof)
    case supported(Bool)
    case passwordChange(PasswordChange)
    case boundCards([BoundCard])
    case backup(BackupCount)
    case credentials([CredentialKind])
    case certificates([Certificate])
    case verdict(Outcome<CertificateChain.Outcome>)
    case imported(ImportedContent)
    case places(Outcome<[TokenPlace]>)
    case token(TokenDescription)
    case keys(Outcome<[KeyDescription]>)
    case vouching(Vouching)
    case drivers([CardDriver])
    case cardSettings(CardSettings)
    case card(CardOverview)
    case dataObject(CardDataContent)
    case modules([ModuleDescription])
    case damage([Missing])
    case hostStatus(HostStatus)
    case journal(JournalPage)
    case searched(Outcome<SearchPage>)
    case accessDecisions(Outcome<[AccessEntry]>)
    case accessChange(Int)
    case access(ItemAccess)
    case cardChange(CardChangeOutcome)
    case managementKey(CardManagementKeyStatus)
    case attestation([[UInt8]])
}
