import PIVDriver
import SecureBytes
import Testing
import TokenKit

@Suite struct PIVContainerTests {
    @Test func thereAreThirtySixStandardOnesAndYubicosEight() {
        #expect(PIVContainer.standard.count == 36)
        #expect(PIVContainer.yubico.count == 8)
    }

    @Test func namesAndTagsTellThemApart() {
        #expect(Set(PIVContainer.all.map(\.name)).count == PIVContainer.all.count)
        #expect(Set(PIVContainer.all.map(\.tag)).count == PIVContainer.all.count)
    }

    @Test(arguments: PIVContainer.all)
    func eachIsFoundByItsName(container: PIVContainer) {
        #expect(PIVContainer.named(container.name) == container)
        #expect(container.sizeLimit >= container.minimumCapacity)
    }

    @Test func nobodyKnowsOtherNames() {
        #expect(PIVContainer.named("CHUID") == nil)
        #expect(PIVContainer.named("") == nil)
    }

    @Test func aTagNamesAContainerAlsoOneThatNoSpecificationHas() throws {
        #expect(PIVContainer.named("0x5FC102") == .chuid)
        #expect(PIVContainer.named("0x5fc102") == .chuid)
        #expect(PIVContainer.named("0x7e") == .discovery)
        let unknown = try #require(PIVContainer.named("0x5fc1ff"))
        #expect(unknown.tag == 0x5FC1FF)
        #expect(PIVContainer.named(unknown.name) == unknown)
    }

    @Test(arguments: [
        "0x", "0x5", "0x5F", "0x5FC1F", "0x5353", "0x5FC10203", "5FC1FF", "0x5FC1FZ", "0x 5FC1", "0X5FC1FF",
    ])
    func whatIsNoTagNamesNoContainer(_ text: String) {
        #expect(PIVContainer.named(text) == nil)
    }

    /// SP 800-73-5 part 1 tables 2 and 7.
    @Test(arguments: [
        ("card-capability", 0x5FC107, 287), ("chuid", 0x5FC102, 2916), ("authentication-certificate", 0x5FC105, 1905),
        ("fingerprints", 0x5FC103, 4006), ("security-object", 0x5FC106, 1336), ("facial-image", 0x5FC108, 12_710),
        ("card-authentication-certificate", 0x5FC101, 1905), ("signature-certificate", 0x5FC10A, 1905),
        ("key-management-certificate", 0x5FC10B, 1905), ("printed-information", 0x5FC109, 245), ("discovery", 0x7E, 19),
        ("key-history", 0x5FC10C, 128), ("retired-certificate-1", 0x5FC10D, 1905),
        ("retired-certificate-20", 0x5FC120, 1905), ("iris-images", 0x5FC121, 7106),
        ("biometric-group-template", 0x7F61, 65), ("secure-messaging-signer", 0x5FC122, 2471),
        ("pairing-code", 0x5FC123, 12),
    ])
    func tagAndCapacityAreThoseOfTheSpecification(name: String, tag: UInt32, capacity: Int) throws {
        let container = try #require(PIVContainer.named(name))
        #expect(container.tag.rawValue == tag)
        #expect(container.minimumCapacity == capacity)
    }

    @Test func whatTellsOfThePersonWantsThePIN() {
        let names = PIVContainer.all.filter { $0.readRule == .pin }.map(\.name)
        #expect(names == ["fingerprints", "facial-image", "printed-information", "iris-images", "pairing-code"])
    }

    /// SP 800-73-5 part 1 table 3: the two bytes of a container's identifier are the end of its object identifier.
    @Test(arguments: [
        ("card-capability", "1.219.0"), ("chuid", "2.48.0"), ("authentication-certificate", "2.1.1"),
        ("fingerprints", "2.96.16"), ("security-object", "2.144.0"), ("facial-image", "2.96.48"),
        ("card-authentication-certificate", "2.5.0"), ("signature-certificate", "2.1.0"),
        ("key-management-certificate", "2.1.2"), ("printed-information", "2.48.1"), ("discovery", "2.96.80"),
        ("key-history", "2.96.96"), ("retired-certificate-1", "2.16.1"), ("retired-certificate-20", "2.16.20"),
        ("iris-images", "2.16.21"), ("biometric-group-template", "2.16.22"), ("secure-messaging-signer", "2.16.23"),
        ("pairing-code", "2.16.24"),
    ])
    func objectIdentifiersAreThoseOfTheSpecification(name: String, arcs: String) throws {
        #expect(try #require(PIVContainer.named(name)).objectIdentifier == "2.16.840.1.101.3.7." + arcs)
    }

    @Test func everyStandardObjectHasAnIdentifierOfItsOwnAndYubicosHaveNone() {
        #expect(Set(PIVContainer.standard.compactMap(\.objectIdentifier)).count == 36)
        #expect(PIVContainer.yubico.allSatisfy { $0.objectIdentifier == nil })
    }
}
