import CryptokiNames
import HostAPI
import KeychainModel
import Testing

/// The places of keys, each of which has one PIN.
@Suite struct KeyDescriptionTests {
    private func key(_ place: String, _ description: String?, token: String = "piv:1") -> KeyDescription {
        let item = Item(
            .key, attributes: [:], keychain: KeychainIdentifier(rawValue: token),
            reference: PersistentReference(.key, .token(id: token, object: Array("9A".utf8))))
        let slot = description.map { CryptokiSlotName(description: $0, manufacturer: "", number: 7) }
        return KeyDescription(item, keychainName: place, slotName: slot)
    }

    @Test func aReaderThatTwoModulesShowIsOnePlace() {
        let own = key("Reader", "Reader")
        #expect(own.isInSamePlace(as: own))
        #expect(own.isInSamePlace(as: key("module", "Reader")))
        #expect(!own.isInSamePlace(as: key("Other", "Other")))
        #expect(!own.isInSamePlace(as: key("login", nil)))
    }

    /// Slots of two modules that say nothing of their place.
    @Test func slotsWithoutADescriptionAreNotTakenForOne() {
        #expect(!key("one", "").isInSamePlace(as: key("other", "")))
        #expect(!key("well", "", token: "pkcs11:1").isInSamePlace(as: key("well", "", token: "pkcs11:2")))
    }
}
