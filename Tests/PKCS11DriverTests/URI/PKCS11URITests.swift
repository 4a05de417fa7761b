import CryptokiNames
import ModuleConfiguration
import PKCS11Driver
import SecureBytes
import Testing
import TokenKit

@Suite struct PKCS11URITests {
    @Test func `Every attribute is read`() throws {
        let uri = try PKCS11URI(
            "pkcs11:token=A%20card;manufacturer=Maker;serial=47;model=PIV;object=K%c3%a9y;id=%01%FF;type=private"
                + ";library-manufacturer=M;library-description=D;library-version=2.40;slot-description=Reader%2000"
                + ";slot-manufacturer=R;slot-id=17?pin-source=file:%2Fpin&module-name=tokenkit&module-path=/lib")
        #expect(
            uri.token == .init(label: "A card", manufacturer: "Maker", serialNumber: "47", model: "PIV"))
        #expect(uri.object == .init(id: [1, 0xFF], label: "Kéy", kind: .privateKey))
        #expect(uri.library == .init(description: "D", manufacturer: "M", version: 2 << 8 | 40))
        #expect(uri.slot == .init(description: "Reader 00", manufacturer: "R", number: 17))
        #expect(uri.pinSource == "file:/pin")
        #expect(uri.moduleName == "tokenkit")
        #expect(uri.modulePath == "/lib")
        #expect(!uri.hasPINValue)
        #expect(try PKCS11URI(uri.description) == uri)
    }

    @Test(arguments: [
        ("module-name=softhsm2", true), ("module-name=libsofthsm2", true), ("module-name=libsofthsm2.so", true),
        ("module-name=SoftHSM2", true), ("module-name=mine", true), ("module-name=softhsm", false),
        ("module-path=/usr/lib/softhsm/libsofthsm2.so", true), ("module-path=/usr/lib/softhsm", true),
        ("module-path=/usr/lib/softhsm/", true), ("module-path=/usr/lib/../lib/softhsm", true),
        ("module-path=/usr/lib", false), ("module-path=/nothing", false), ("module-path=libsofthsm2.so", false),
        ("module-path=/usr/lib/softhsm&module-name=softhsm2", true),
        ("module-path=/usr/lib/softhsm&module-name=opensc", false),
        ("module-path=/usr/lib&module-name=softhsm2", false), ("pin-source=x", true),
    ])
    func `A module is named by its name with affixes or without, by its file and by its folder`(
        _ query: String, _ isMeant: Bool
    ) throws {
        let module = ConfiguredModule(name: "mine", path: "/usr/lib/softhsm/libsofthsm2.so")
        #expect(try PKCS11URI("pkcs11:?\(query)").matches(module) == isMeant)
    }

    @Test func `A module that is elsewhere has a name alone`() throws {
        let module = ConfiguredModule(name: "far", path: nil)
        #expect(try PKCS11URI("pkcs11:?module-name=far").matches(module))
        #expect(try !PKCS11URI("pkcs11:?module-name=farther").matches(module))
        #expect(try !PKCS11URI("pkcs11:?module-path=/usr/lib").matches(module))
    }

    @Test func `What a URI does not say is open`() throws {
        let uri = try PKCS11URI("pkcs11:")
        #expect(uri == PKCS11URI())
        #expect(uri.description == "pkcs11:")
        #expect(!uri.namesObject)
    }

    @Test(arguments: [
        (PKCS11URI.Kind.certificate, "cert"), (.publicKey, "public"), (.privateKey, "private"),
        (.secretKey, "secret-key"), (.data, "data"),
    ])
    func `Types have the names of the standard`(_ kind: PKCS11URI.Kind, _ name: String) throws {
        #expect(try PKCS11URI("pkcs11:type=\(name)").object.kind == kind)
        #expect(PKCS11URI(object: .init(kind: kind)).description == "pkcs11:type=\(name)")
    }

    @Test(arguments: [
        PKCS11URI(token: .init(label: "")), PKCS11URI(token: .init(label: "a;b?c&d=e%f/g#h")),
        PKCS11URI(token: .init(label: "Grüße\u{1F511}", serialNumber: " 1")), PKCS11URI(object: .init(id: [])),
        PKCS11URI(object: .init(id: Array(0...255))), PKCS11URI(object: .init(label: "")),
    ])
    func `What is written is read again`(_ uri: PKCS11URI) throws {
        #expect(try PKCS11URI(uri.description) == uri)
    }

    @Test(arguments: [
        "pkcs11:frob=1", "pkcs11:token=a;x-vendor=b", "pkcs11:type=otp", "pkcs11:Token=a",
        "pkcs11:serial=12345678901234567", "pkcs11:token=\(String(repeating: "a", count: 33))",
    ])
    func `What has no meaning here is not passed over`(_ text: String) {
        #expect(code(text) == .unrecognized)
    }

    @Test func `The attribute without a meaning is named`() {
        #expect(
            reason("pkcs11:token=a;x-frob=b") == "'x-frob' of the URI has no meaning here, so that nothing can match it"
        )
        #expect(reason("pkcs11:type=otp") == "'type=otp' of the URI has no meaning here, so that nothing can match it")
    }

    @Test(arguments: [
        "", "pkcs1:token=a", "pkcs11:token", "pkcs11:id=%0", "pkcs11:id=%zz", "pkcs11:library-version=x",
        "pkcs11:slot-id=x", "pkcs11:token=a;token=b", "pkcs11:token=a; to ken=b", "pkcs11:token=%00",
        "pkcs11:object=a%00b", "pkcs11:?module-name=%ff", "pkcs11:\0token=a", "pkcs11:?pin-source=a&pin-source=b",
        "pkcs11:?pin-value=a%00b", "pkcs11:slot-id=18446744073709551616", "pkcs11:slot-id=99999999999999999999",
        "pkcs11:slot-id=", "pkcs11:slot-id=-1", "pkcs11:slot-id=+1", "pkcs11:slot-id=0x1", "pkcs11:slot-id=%D9%A1",
        "pkcs11:library-version=256", "pkcs11:library-version=1.256", "pkcs11:library-version=1.2.3",
        "pkcs11:library-version=", "pkcs11:library-version=1.", "pkcs11:library-version=.1",
        "pkcs11:?pin-source=a&pin-value=b", "pkcs11:=a", "pkcs11:tok%65n=a", "pkcs11:token=%", "pkcs11:token=%4",
        "pkcs11:token=%4;id=%01", "pkcs11:token=\u{7F}", "pkcs11:token=a\u{1B}b",
    ])
    func `What cannot be read is refused`(_ text: String) {
        #expect(code(text) == .malformed)
    }

    @Test(arguments: [
        "pkcs11:;token=a", "pkcs11:token=a;", "pkcs11:;", "pkcs11:;;", "pkcs11:token=a;;id=%01",
        "pkcs11:token=a; ;id=%01",
        "pkcs11:token=a;\n", "pkcs11:;?pin-source=a", "pkcs11:?&pin-source=a", "pkcs11:?pin-source=a&",
        "pkcs11:?pin-source=a&&pin-value=b", "pkcs11:?&",
    ])
    func `An empty attribute is refused, and nothing behind it lost`(_ text: String) {
        #expect(code(text) == .malformed)
        #expect(reason(text)?.hasSuffix("with no attribute before or after it") == true)
    }

    @Test(arguments: [
        ("pkcs11:token=a?id=%01", "'id' of the URI belongs before the '?'"),
        ("pkcs11:token=a;object=b?object=c", "'object' of the URI belongs before the '?'"),
        ("pkcs11:serial=1?serial=2", "'serial' of the URI belongs before the '?'"),
        ("pkcs11:?token=a", "'token' of the URI belongs before the '?'"),
        ("pkcs11:?pin-source=a&type=private", "'type' of the URI belongs before the '?'"),
        ("pkcs11:token=a?pin-source=b;id=%01", "the URI has a ';' behind its '?'"),
        ("pkcs11:token=a?frob=1;id=%01", "the URI has a ';' behind its '?'"),
        ("pkcs11:token=a#;id=%01", "the URI has a fragment"), ("pkcs11:#token=a", "the URI has a fragment"),
        ("pkcs11:?pin-source=a#b", "the URI has a fragment"),
    ])
    func `What stands where it would name nothing is refused`(_ text: String, _ report: String) {
        #expect(code(text) == .malformed)
        #expect(reason(text)?.hasPrefix(report) == true)
    }

    @Test(arguments: [
        "pkcs11:objecttype=cert", "pkcs11:object-type=cert", "pkcs11:type=cert;object-type=private",
        "pkcs11:type=secretkey", "pkcs11:type=CERT", "pkcs11:type=", "pkcs11:pin-source=a", "pkcs11:ID=%01",
    ])
    func `Older names and other cases are no second way to say the same`(_ text: String) {
        #expect(code(text) == .unrecognized)
    }

    @Test(arguments: ["pkcs11:?", "pkcs11:token=a?", "pkcs11:token=a?frob=1", "pkcs11:token=a?pinfile=b"])
    func `A query that is empty or that nobody knows is passed over`(_ text: String) throws {
        let uri = try PKCS11URI(text)
        #expect(uri.token.label == (text.contains("token") ? "a" : nil))
        #expect(uri.pinSource == nil)
    }

    @Test(arguments: [
        ("pkcs11:token=a b\n ;\tserial=\r\n4", "pkcs11:serial=4;token=ab"), ("PKCS11:id=%aB", "pkcs11:id=%AB"),
        ("pkcs11:token=a=b&c/d", "pkcs11:token=a%3Db%26c%2Fd"), ("pkcs11:token=%20a%20%20", "pkcs11:token=%20a"),
        ("pkcs11:token=%e9", "pkcs11:token=%E9"), ("pkcs11:object=%ff", "pkcs11:object=%FF"),
        ("pkcs11:token=é", "pkcs11:token=%C3%A9"), ("pkcs11:object=e%CC%81", "pkcs11:object=e%CC%81"),
        ("pkcs11:library-version=2", "pkcs11:library-version=2.0"), ("pkcs11:id=.-_", "pkcs11:id=%2E%2D%5F"),
        ("pkcs11:slot-id=18446744073709551615", "pkcs11:slot-id=18446744073709551615"),
        ("pkcs11:slot-id=007", "pkcs11:slot-id=7"), ("pkcs11:?pin-source=a?b/c=d", "pkcs11:?pin-source=a%3Fb%2Fc%3Dd"),
    ])
    func `Bytes are kept as they were written`(_ text: String, _ written: String) throws {
        #expect(try PKCS11URI(text).description == written)
    }

    @Test func `Texts that look the same are told apart by their bytes`() throws {
        #expect(try PKCS11URI("pkcs11:token=%C3%A9") != PKCS11URI("pkcs11:token=e%CC%81"))
    }

    @Test(arguments: [
        ("pkcs11:", false), ("pkcs11:model=a", false), ("pkcs11:manufacturer=a;library-manufacturer=b", false),
        ("pkcs11:?module-name=a", false), ("pkcs11:slot-manufacturer=a", false), ("pkcs11:token=a", true),
        ("pkcs11:token=", true), ("pkcs11:serial=1", true), ("pkcs11:slot-id=1", true),
        ("pkcs11:slot-description=a", true),
    ])
    func `Only some attributes tell one token from another`(_ text: String, _ tells: Bool) throws {
        #expect(try PKCS11URI(text).tellsTokensApart == tells)
    }

    @Test(arguments: [
        ("pkcs11:", false), ("pkcs11:token=a", false), ("pkcs11:type=cert", false), ("pkcs11:id=%01", true),
        ("pkcs11:object=a;type=cert", true),
    ])
    func `Only some attributes tell one object from another`(_ text: String, _ tells: Bool) throws {
        #expect(try PKCS11URI(text).tellsObjectsApart == tells)
    }

    @Test(arguments: [
        ("pkcs11:", true), ("PKCS11:token=a", true), ("pkcs11:?pin-source=a", true), ("pkcs11:0123abcd", false),
        ("piv:0123", false), ("pkcs11", false), ("9A", false), ("", false),
    ])
    func `A URI is told from the id of a token`(_ text: String, _ isURI: Bool) {
        #expect(PKCS11URI.isURI(text) == isURI)
    }

    // MARK: PINs

    @Test func `The PIN is no part of the value`() throws {
        let text = "pkcs11:token=a?pin-value=12%3456"
        let uri = try PKCS11URI(text)
        #expect(uri.hasPINValue)
        #expect(uri.description == "pkcs11:token=a")
        #expect(pin(of: text) == Array("12456".utf8))
        #expect(pin(of: "pkcs11:token=a") == nil)
        #expect(pin(of: "pkcs11:token=a?pin-value=") == [])
    }

    @Test(arguments: [
        ("/etc/pin", "/etc/pin"), ("pin", "pin"), ("file:/etc/pin", "/etc/pin"), ("file:///etc/pin", "/etc/pin"),
        ("file://localhost/etc/pin", "/etc/pin"), ("FILE:/etc/pin", "/etc/pin"), ("file:/my%2520pin", "/my pin"),
        ("/my%2520pin", "/my%20pin"), ("file:pin", "pin"),
    ])
    func `The PIN is in a file`(_ source: String, _ path: String) throws {
        #expect(try PKCS11URI("pkcs11:?pin-source=\(source)").pinFile() == path)
    }

    @Test func `Most URIs do not say where the PIN is`() throws {
        #expect(try PKCS11URI("pkcs11:token=a").pinFile() == nil)
    }

    @Test(arguments: [
        "%7C/usr/bin/pin", "https://example.com/pin", "file://server/pin", "file:/a%25zz", "file:/a%2500", "file:", "",
        "fd:3", "env:PIN",
    ])
    func `No other source of a PIN is used`(_ source: String) throws {
        let uri = try PKCS11URI("pkcs11:?pin-source=\(source)")
        let error = #expect(throws: PKCS11URIError.self) { try uri.pinFile() }
        #expect(error?.code == .pinSource)
    }

    // MARK: Matching

    private static let token = PKCS11URI.Token(
        label: "Card", manufacturer: "Maker", serialNumber: "47", model: "Model")

    @Test(arguments: [
        ("pkcs11:", true), ("pkcs11:token=Card", true), ("pkcs11:token=card", false),
        ("pkcs11:token=Card;serial=47;model=Model;manufacturer=Maker", true), ("pkcs11:token=Card;serial=48", false),
        ("pkcs11:slot-description=Reader", true), ("pkcs11:slot-description=Other", false),
        ("pkcs11:slot-id=5", true), ("pkcs11:slot-id=6", false), ("pkcs11:token=", false),
        ("pkcs11:library-manufacturer=tokenkit", false), ("pkcs11:library-version=0.1", false),
    ])
    func `A token is told by what its module shows`(_ text: String, _ isMatch: Bool) throws {
        let place = PKCS11URI.Place(Self.token, slot: .init(description: "Reader", manufacturer: "", number: 5))
        #expect(try PKCS11URI(text).matches(place) == isMatch)
    }

    @Test(arguments: [
        ("pkcs11:", true), ("pkcs11:id=%01", true), ("pkcs11:id=%01%00", false), ("pkcs11:id=", false),
        ("pkcs11:type=cert", true), ("pkcs11:type=private", false), ("pkcs11:object=Label;id=%01;type=cert", true),
        ("pkcs11:object=label", false), ("pkcs11:token=other", true),
    ])
    func `An object is told by id, label and type`(_ text: String, _ isMatch: Bool) throws {
        let object = PKCS11URI.Object(id: [1], label: "Label", kind: .certificate)
        #expect(try PKCS11URI(text).matches(object) == isMatch)
    }

    @Test func `A URI of a token leaves out what that does not say`() {
        let name = PKCS11URI.Token(label: "Card", manufacturer: "", serialNumber: "47", model: "")
        #expect(PKCS11URI(of: name).description == "pkcs11:serial=47;token=Card")
        #expect(PKCS11URI(of: name).wholeToken == name)
        #expect(PKCS11URI(of: name).matches(PKCS11URI.Place(name)))
    }

    @Test func `A token that says nothing of itself is named by that`() throws {
        let name = PKCS11URI.Token(label: "", manufacturer: "", serialNumber: "", model: "")
        #expect(PKCS11URI(of: name).description == "pkcs11:token=")
        #expect(PKCS11URI(of: name).matches(PKCS11URI.Place(name)))
        #expect(PKCS11URI(of: name).wholeToken == name)
        #expect(!PKCS11URI(of: name).matches(PKCS11URI.Place(Self.token)))
    }

    @Test func `Both parts can be told to people`() throws {
        let uri = try PKCS11URI("pkcs11:token=a;id=%01?pin-source=/pin&module-name=m")
        #expect(uri.tokenPart == "pkcs11:token=a")
        #expect(uri.objectPart == "pkcs11:id=%01")
    }

    // MARK: Of what cannot be copied

    private func pin(of text: String) -> [UInt8]? {
        guard let secret = try? PKCS11URI.pinValue(of: text) else { return nil }
        let bytes = secret.bytes
        return bytes.indices.map { bytes[$0] }
    }

    private func code(_ text: String) -> PKCS11URIError.Code? { error(text)?.code }

    private func reason(_ text: String) -> String? { error(text)?.description }

    private func error(_ text: String) -> PKCS11URIError? {
        do throws(PKCS11URIError) {
            _ = try PKCS11URI(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func attributesOfVendorsInTheQueryMayComeSeveralTimes() throws {
        let uri = try PKCS11URI("pkcs11:token=a?x-one=1&x-one=2&module-name=b&x-one=%ZZ")
        #expect(uri.description == "pkcs11:token=a?module-name=b")
        #expect(throws: PKCS11URIError.self) { try PKCS11URI("pkcs11:token=a?module-name=b&module-name=b") }
    }
}
