import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 1.12 and 2.4: numbers that other programs know.
@Suite struct CodeRuleTests {
    private static let codes: [(Int32, String)] = [
        (0, "Success"), (-4, "Unimplemented"), (-34, "DiskFull"), (-36, "IO"), (-49, "OpWr"), (-50, "Param"),
        (-61, "WrPerm"), (-108, "Allocate"), (-128, "UserCanceled"), (-909, "BadReq"), (-2070, "InternalComponent"),
        (-34018, "MissingEntitlement"), (-34020, "RestrictedAPI"), (-25291, "NotAvailable"), (-25292, "ReadOnly"),
        (-25293, "AuthFailed"), (-25294, "NoSuchKeychain"), (-25295, "InvalidKeychain"),
        (-25296, "DuplicateKeychain"), (-25297, "DuplicateCallback"), (-25298, "InvalidCallback"),
        (-25299, "DuplicateItem"), (-25300, "ItemNotFound"), (-25301, "BufferTooSmall"), (-25302, "DataTooLarge"),
        (-25303, "NoSuchAttr"), (-25304, "InvalidItemRef"), (-25305, "InvalidSearchRef"), (-25306, "NoSuchClass"),
        (-25307, "NoDefaultKeychain"), (-25308, "InteractionNotAllowed"), (-25309, "ReadOnlyAttr"),
        (-25310, "WrongSecVersion"), (-25311, "KeySizeNotAllowed"), (-25312, "NoStorageModule"),
        (-25313, "NoCertificateModule"), (-25314, "NoPolicyModule"), (-25315, "InteractionRequired"),
        (-25316, "DataNotAvailable"), (-25317, "DataNotModifiable"), (-25318, "CreateChainFailed"),
        (-25319, "InvalidPrefsDomain"), (-25320, "InDarkWake"), (-25240, "ACLNotSimple"), (-25241, "PolicyNotFound"),
        (-25242, "InvalidTrustSetting"), (-25243, "NoAccessForItem"), (-25244, "InvalidOwnerEdit"),
        (-25245, "TrustNotAvailable"), (-25256, "UnsupportedFormat"), (-25257, "UnknownFormat"),
        (-25258, "KeyIsSensitive"), (-25259, "MultiplePrivKeys"), (-25260, "PassphraseRequired"),
        (-25261, "InvalidPasswordRef"), (-25262, "InvalidTrustSettings"), (-25263, "NoTrustSettings"),
        (-25264, "Pkcs12VerifyFailure"), (-26267, "NotSigner"), (-26275, "Decode"), (-26276, "Internal"),
        (-25330, "AuthNeeded"), (-67585, "ServiceNotAvailable"), (-67587, "DeviceReset"), (-67588, "DeviceFailed"),
        (-67671, "InternalError"), (-67688, "InvalidSignature"), (-67694, "InvalidValue"), (-67727, "DeviceError"),
        (-67729, "NotLoggedIn"), (-67730, "AlgorithmMismatch"), (-67731, "KeyUsageIncorrect"),
        (-67735, "UnsupportedKeySize"), (-67747, "InvalidAlgorithm"), (-67808, "VerifyFailed"),
        (-67818, "CertificateExpired"), (-67819, "CertificateNotValidYet"), (-67820, "CertificateRevoked"),
        (-67843, "NotTrusted"), (-67602, "HostNameMismatch"),
    ]

    @Test func rule1_12_everyCodeHasItsNumberAndName() {
        for (number, name) in Self.codes { #expect(ErrSec(rawValue: number).name == "errSec\(name)") }
        #expect(Set(ErrSec.allNamed.map(\.rawValue)) == Set(Self.codes.map(\.0)))
    }

    @Test func rule1_12_anErrorHasItsReasonItsKeyAndTheTriesLeft() {
        let error = KeychainError(TokenError(.pinBlocked, "why", triesLeft: 0))
        #expect(error.code.rawValue == -25293)
        #expect(error.reason == "why")
        #expect(error.triesLeft == 0)
        expect(ErrSec(rawValue: -50), key: "m_Limit") { try Query(.key, limit: .atMost(0)) }
    }

    @Test func rule2_4_eventsHaveApplesNumbersAndABitEach() {
        let numbers: [KeychainEvent.Kind: Int] = [
            .lock: 1, .unlock: 2, .add: 3, .delete: 4, .update: 5, .passwordChanged: 6, .defaultChanged: 9,
            .listChanged: 11,
        ]
        for (kind, number) in numbers {
            #expect(kind.rawValue == number)
            #expect(kind.mask.rawValue == 1 << UInt32(number))
        }
        let own = Set(KeychainEvent.Kind.allCases).subtracting(numbers.keys)
        let ofReaders: Set<KeychainEvent.Kind> = [
            .readerAdded, .readerRemoved, .cardMute, .serviceUnavailable, .serviceAvailable,
        ]
        #expect(own == ofReaders.union([.tokenInserted, .tokenRemoved, .pinBlocked]))
        #expect(own.allSatisfy { $0.rawValue > 12 && $0.rawValue < 32 })
    }
}
