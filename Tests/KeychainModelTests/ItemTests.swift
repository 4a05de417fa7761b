import KeychainModel
import Testing

@Suite struct ItemTests {
    private func item(_ itemClass: ItemClass, _ attributes: Attributes, onToken: Bool = false) -> Item {
        let target = onToken ? PersistentReference.Target.token(id: "piv:1", object: [1]) : .local(UniqueID())
        return Item(
            itemClass, attributes: attributes, keychain: KeychainIdentifier(rawValue: "k"),
            reference: PersistentReference(itemClass, target))
    }

    @Test func certificatesAndKeysPairByPublicKeyHash() {
        #expect(item(.certificate, [.publicKeyHash: .data([1, 2])]).publicKeyHash == [1, 2])
        #expect(item(.key, [.applicationLabel: .data([1, 2])]).publicKeyHash == [1, 2])
        #expect(item(.genericPassword, [.generic: .data([1, 2])]).publicKeyHash == nil)
    }

    @Test(arguments: [KeyClass.private, .public, .symmetric])
    func aKeyIsPrivateOrSymmetricByItsClass(keyClass: KeyClass) {
        #expect(item(.key, [.keyClass: keyClass.value]).isPrivateKey == (keyClass == .private))
        #expect(item(.key, [.keyClass: keyClass.value]).isSymmetricKey == (keyClass == .symmetric))
        #expect(!item(.genericPassword, [.keyClass: keyClass.value]).isSymmetricKey)
    }

    @Test func theReferenceTellsWhetherAnItemIsOnAToken() {
        #expect(item(.key, [:], onToken: true).isOnToken)
        #expect(!item(.key, [:]).isOnToken)
    }

    @Test func labelsThatAreNotTextAreNone() {
        #expect(item(.key, [.label: "Key"]).label == "Key")
        #expect(item(.key, [.label: .data([1])]).label == nil)
    }
}
