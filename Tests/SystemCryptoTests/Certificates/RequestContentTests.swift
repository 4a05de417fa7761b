import SystemCrypto
import TestSupport
import Testing

/// Names as text, and the further content of requests, compared with OpenSSL's reading of them.
@Suite struct RequestContentTests {
    @Test(arguments: [
        "CN=Jo", "CN=Jo Doe,OU=Desk,O=Example\\, Ltd,L=Bern,ST=BE,C=CH", "CN=Zoë 🗝", "OU=Board+OU=Desk,O=Example",
        "CN=#0C024A6F,DC=example,DC=org", "CN=a\\+b\\=c", "1.2.3.4=#0C0161", "CN=\\#x,O=\\ y\\ ",
    ]) func aNameIsReadFromItsText(text: String) throws {
        let name = try DistinguishedName(text: text)
        #expect(try DistinguishedName(text: name.description).der == name.der, "\(name)")
        #expect(try DistinguishedName(der: name.der) == name)
    }

    @Test func theMostSpecificPartIsLastInTheCertificate() throws {
        let name = try DistinguishedName(text: "CN = Jo Doe , emailAddress=jo@example.org,O=Example, C=CH")
        #expect(name.description == "CN=Jo Doe,emailAddress=jo@example.org,O=Example,C=CH")
        #expect(
            name.commonName == "Jo Doe"
                && name.attributes.map(\.value) == ["CH", "Example", "jo@example.org", "Jo Doe"])
        #expect(try DistinguishedName(text: "CN=J\\C3\\B6").commonName == "Jö")
    }

    @Test(arguments: [
        "", "Jo", "CN", "CN=", "CN= ", "CN=Jo,", ",CN=Jo", "CN=Jo+", "XX=Jo", "CN=Jo;O=x", "CN=\"Jo\"", "CN=<Jo>",
        "CN=a\\", "CN=a\\x",
        "CN=\\C3", "C=CHE", "C=1H", "CN=#0C024A", "CN=#0C024A6F00", "CN=#", "CN=#XY", "DC=exämple", "/CN=Jo",
        "CN=\u{0}",
        "CN=" + String(repeating: "x", count: DistinguishedName.maximumTextLength),
    ]) func otherTextIsAnError(text: String) {
        #expect(throws: CryptoError(.malformed, "")) { try DistinguishedName(text: text) }
    }

    @Test func everythingThatIsAskedForIsInTheRequest() throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(.ecP256)
        var request = try CertificationRequest(
            subject: DistinguishedName(text: "CN=Jo Doe,O=Example,C=CH"), publicKey: key.publicKey)
        request.subjectAlternativeNames = [.userPrincipalName("jo@EXAMPLE.ORG"), .uri("urn:uuid:1")]
        request.extendedKeyUsage = [.clientAuthentication, .smartCardLogon]
        request.extensions = [
            CertificateExtension("2.5.29.15", isCritical: true, value: [3, 2, 7, 0x80]),
            CertificateExtension("1.2.3.4", value: [5, 0]),
        ]
        let signature = try key.sign(message: request.toBeSigned, using: .ecdsa(.sha256))
        try openssl.write(request.assemble(signature: signature, algorithm: .ecdsa(.sha256)), to: "request.der")
        let text = try openssl.succeed(["req", "-inform", "DER", "-in", "request.der", "-noout", "-verify", "-text"])
        // Versions differ in blanks and colons.
        let dense = text.replacing(" ", with: "").replacing("::", with: ":")
        for part in [
            "Subject:C=CH,O=Example,CN=JoDoe", "othername:UPN:jo@EXAMPLE.ORG,URI:urn:uuid:1",
            "TLSWebClientAuthentication,MicrosoftSmartcardLogin", "X509v3KeyUsage:critical", "1.2.3.4",
        ] { #expect(dense.contains(part), "\(part)") }
    }

    // MARK: Extensions from files

    private static let one = CertificateExtension("1.2.3.4", value: [5, 0])
    private static let other = CertificateExtension("1.2.3.5", isCritical: true, value: [5, 0])
    private static let oneDER = [UInt8](hex: "300906032A030404020500")
    private static let otherDER = [UInt8](hex: "300C06032A03050101FF04020500")

    @Test func extensionsComeAloneOrTogether() throws {
        let (one, other) = (Self.one, Self.other)
        #expect(try CertificateExtension.all(in: Self.oneDER) == [one])
        #expect(try CertificateExtension.all(in: Self.oneDER + Self.otherDER) == [one, other])
        let list = [0x30, UInt8(Self.oneDER.count + Self.otherDER.count)] + Self.oneDER + Self.otherDER
        #expect(try CertificateExtension.all(in: list) == [one, other])
        let pem = PEM.encode(Self.otherDER, label: "EXTENSION") + PEM.encode(list, label: "EXTENSIONS")
        #expect(try CertificateExtension.all(in: utf8(pem)) == [other, one, other])
    }

    @Test func otherFilesAreErrors() {
        for count in Self.oneDER.indices {
            #expect(throws: CryptoError(.malformed, "")) {
                try CertificateExtension.all(in: Array(Self.oneDER.prefix(count)))
            }
        }
        let many = (0...CertificateExtension.maximumCount).flatMap { _ in Self.oneDER }
        for file in [
            [0x30, 0], [0x30, 2, 0x30, 0], Self.oneDER + [0], utf8("-----BEGIN X-----\n"), utf8("text"), many,
        ] {
            #expect(throws: CryptoError(.malformed, "")) { try CertificateExtension.all(in: file) }
        }
    }
}
