import CCryptoki
import CryptokiNames
import Testing
import TokenKit

@testable import PKCS11Driver

@Suite struct ModuleTokenInfoTests {
    private static func info(
        label: PKCS11URI.Text = "l", serial: PKCS11URI.Text = "s", flags: CK_FLAGS = 0, pin: (UInt64, UInt64) = (4, 8)
    ) -> ModuleTokenInfo {
        ModuleTokenInfo(
            slot: 1, slotDescription: "d", label: label, manufacturer: "a b", model: "m;/", serialNumber: serial,
            flags: UInt64(flags), minimumPINLength: pin.0, maximumPINLength: pin.1, firmware: "1.0")
    }

    @Test func theIDIsTheTokensURI() {
        #expect(Self.info().id.description == "pkcs11:model=m%3B%2F;manufacturer=a%20b;serial=s;token=l")
        #expect(
            Self.info(label: "ä", serial: "").id.description == "pkcs11:model=m%3B%2F;manufacturer=a%20b;token=%C3%A4")
    }

    @Test func theURIHasTheTokensOwnBytes() throws {
        let info = Self.info(label: PKCS11URI.Text([0x4B, 0xFC, 0xFF]))
        #expect(info.id.description == "pkcs11:model=m%3B%2F;manufacturer=a%20b;serial=s;token=K%FC%FF")
        let identity = TokenIdentity(id: info.id, label: "K\u{FFFD}\u{FFFD}")
        #expect(PKCS11URI.Token(identity).label == PKCS11URI.Text([0x4B, 0xFC, 0xFF]))
    }

    @Test func aTokenWithoutALabelHasAnEmptyOneInURIs() throws {
        let id = Self.info(label: "").id
        #expect(id.description == "pkcs11:model=m%3B%2F;manufacturer=a%20b;serial=s")
        let place = PKCS11URI.Place(PKCS11URI.Token(TokenIdentity(id: id, label: "m;/")))
        #expect(try PKCS11URI("pkcs11:token=").matches(place))
        #expect(try !PKCS11URI("pkcs11:token=m%3B%2F").matches(place))
    }

    @Test func triesAreToldAsFarAsFlagsTell() {
        #expect(Self.info().triesLeft == nil)
        #expect(Self.info(flags: CKF_USER_PIN_COUNT_LOW).triesLeft == nil)
        #expect(Self.info(flags: CKF_USER_PIN_FINAL_TRY).triesLeft == 1)
        #expect(Self.info(flags: CKF_USER_PIN_LOCKED | CKF_USER_PIN_FINAL_TRY).triesLeft == 0)
    }

    @Test(arguments: [(4, true), (8, true), (3, false), (9, false), (0, false)])
    func aPINHasALength(length: Int, isTaken: Bool) {
        #expect(Self.info().takesPIN(of: length) == isTaken)
    }

    @Test func anyLengthDoesWhereTheModuleTellsNone() {
        for pin: (UInt64, UInt64) in [(0, 0), (8, 4), (.max, 0)] {
            #expect(Self.info(pin: pin).takesPIN(of: 1))
            #expect(!Self.info(pin: pin).takesPIN(of: 0))
        }
    }
}
