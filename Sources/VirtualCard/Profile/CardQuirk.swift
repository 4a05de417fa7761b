/// A way in which real cards differ from SP 800-73, or in which SP 800-73 lets them differ.
///
/// Each one was seen on cards in the field; a ``CardProfile`` puts them together to a make of card.
public enum CardQuirk: String, Sendable, Hashable, CaseIterable {
    // Selection
    /// The application template stands inside a second one.
    case nestedTemplate
    /// Tag `4F` holds the whole AID instead of its PIX.
    case fullIdentifierInTemplate
    /// Each algorithm has a tag `AC` of its own.
    case algorithmsApart
    /// The PIX in tag `4F` has lost its first byte and gained one at the end.
    case shiftedIdentifierInTemplate
    /// SELECT answers 6282 with the template.
    case selectWarns
    /// PIV is selected from the start.
    case implicitlySelected
    /// SELECT of another application leaves PIV, even where there is no such application.
    case otherSelectionDeselects

    // Data objects
    /// GET DATA answers without tag `53`.
    case bareObjects
    /// An absent object is `53 00`, not 6A82.
    case absentObjectsAreEmpty
    /// A missing discovery object is 6A80, not 6A82.
    case discoveryRefused
    /// An object that wants a PIN is 6A82 before the PIN, not 6982.
    case hidesProtectedObjects
    /// The card has no Key History Object, and cannot store one.
    case noKeyHistory
    /// Two zero bytes follow the last data object.
    case trailingBytes
    /// The CHUID that provisioning writes has neither FASC-N nor GUID, only zeros.
    case noIdentifiers
    /// The certificate objects that provisioning writes say `80` for gzip, not `01`.
    case oldCompressionFlag

    // PIN
    /// Tries left are told as 63 0X.
    case triesAs630X
    /// A wrong PIN is 6300, which does not tell the tries that are left.
    case triesUntold
    /// VERIFY without data never says that the PIN is verified.
    case statusQueryNeverVerified
    /// VERIFY without data forgets that the PIN was verified.
    case statusQueryLogsOut
    /// VERIFY without data is a wrong length.
    case statusQueryRefused
    /// VERIFY cannot log out.
    case noLogout
    /// CHANGE REFERENCE DATA does not verify the PIN.
    case changeLeavesUnverified
    /// A VERIFY of the wrong length or with wrong characters costs a try.
    case malformedPINCostsTry
    /// A PIN may have any characters, not only digits.
    case anyPINCharacters
    /// The PIV PIN has key reference `00`.
    case pinUnderGlobalReference
    /// A VERIFY is used up by any command, not only by a private key.
    case anyCommandSpendsPIN
    /// Key `9E` wants the PIN.
    case cardAuthenticationWantsPIN

    // Keys
    /// There is no management key.
    case noManagementKey
    /// A second challenge is 6A80.
    case oneChallenge
    /// An EC key signs what it has hashed itself, under the algorithms `F0` to `F4`.
    case hashesOnCard
    /// Ed25519 has the identifier `22`.
    case ed25519As22
    /// A touch that does not come is 6985, not 6982.
    case touchTimeoutIs6985
    /// GET METADATA of an empty slot is 9000 with a PIN policy and an origin, and no algorithm.
    case emptySlotsTellPolicies
    /// GET METADATA of a PIN has no tag `01`.
    case pinMetadataWithoutAlgorithm
    /// The certificate of the attestation key has no basic constraints.
    case attestationWithoutConstraints

    // Transport
    /// 61xx announces bytes that GET RESPONSE then does not have.
    case announcesTooMuch
    /// 61FF announces 255 bytes or more.
    case announces255
    /// The whole answer comes at once, whatever Le says.
    case ignoresExpectedLength
}
