import Foundation
import SecureBytes
import SystemCrypto
import VirtualCard

/// The folders of the government's test cards; without them, generated folders of the same shape.
public enum CardFolders {
    /// The government's card 37: nine keys, five of them retired, 9E on P-256.
    public static let golden = "37_Golden_FIPS_201-2_PIV_PPS_F_512_D_64"

    /// The names of all eleven cards.
    public static let names = [
        "01_Golden_PIV", "05_Tampered_Certificates", "13_Certs_are_expired", "16_Card_Authentication_FASCN_mismatch",
        "24_Revoked_Certificates", "25_Disco_Object_Not_Present", "27_Disco_Object_Present_App_PIN_Primary",
        "28_Disco_Object_Present_Global_PIN_Primary", golden, "46_Golden_FIPS_201-2_PIV",
        "54_Golden_FIPS_201-2_NFI_PIV-I",
    ]

    /// The path of a card's folder.
    public static func path(_ name: String) throws -> String {
        let folder = try root.get()
        return "\(folder)/\(name)"
    }

    /// The paths of all files with a suffix, including the issuers' if there are any, relative to the folder of all cards.
    public static func files(_ suffix: String) -> [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: root.get())) ?? []
        return names.filter { $0.hasSuffix(suffix) }.sorted()
    }

    private static let root = Result { try existingRoot ?? generate() }

    /// `shared/cards` beside the package or beside the folder that the package is in.
    private static var existingRoot: String? {
        var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        for _ in 0..<5 {
            folder.deleteLastPathComponent()
            let candidate = folder.appendingPathComponent("shared/cards").path
            if FileManager.default.fileExists(atPath: "\(candidate)/\(golden)") { return candidate }
        }
        return nil
    }

    // MARK: - Folders of the same shape

    private static let generatedRoot = FileManager.default.temporaryDirectory.appendingPathComponent(
        "cards-\(ProcessInfo.processInfo.processIdentifier)")

    private static func generate() throws -> String {
        let root = generatedRoot
        atexit { try? FileManager.default.removeItem(at: CardFolders.generatedRoot) }
        let keys = [PrivateKey](repeating: try PrivateKey.generate(.rsa(bits: 2048)), count: 8)
        for name in names {
            let folder = root.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try write(name, to: folder, keys)
        }
        return root.path
    }

    private static func write(_ name: String, to folder: URL, _ keys: [PrivateKey]) throws {
        let isGolden = name == golden
        var names = ["auth-9a", "sign-9c", "keymgmt-9d"]
        if isGolden { names += (1...5).map { "hist\($0)-\(String(0x81 + $0, radix: 16))" } }
        for (file, key) in zip(names, keys) { try write(key, file, to: folder) }
        try write(isGolden ? PrivateKey.generate(.ecP256) : keys[3], "cardauth-9e", to: folder)

        let policy: [UInt8] = name.hasPrefix("28") ? [0x60, 0x20] : [0x60, 0x10]
        let discovery = name.hasPrefix("25") ? [] : [TLV(0x4F, CardConversation.identifier), TLV(0x5F2F, policy)]
        let number = UInt8(name.prefix(2)) ?? 0
        let guid = [UInt8](repeating: 0, count: 15) + [number]
        let objects = [
            "discovery.bin": TLV(0x7E, discovery).encoded(), "ccc.bin": TLV(0xF0, [0xA0] + guid).encoded(),
            "chuid.bin": TLV(0x30, FASCN(credential: Int(number)).encoded).encoded() + TLV(0x34, guid).encoded(),
            "printed.bin": TLV(0x01, Array("ICAM Card".utf8)).encoded(),
            "security.bin": TLV(0xBA, [UInt8]()).encoded(),
        ]
        for (file, bytes) in objects { try Data(bytes).write(to: folder.appendingPathComponent(file)) }
        if isGolden {
            let history: [UInt8] = [0xC1, 0x01, 0x05, 0xC2, 0x01, 0x00, 0xFE, 0x00]
            try Data(history).write(to: folder.appendingPathComponent("keyhistory.bin"))
        }
    }

    private static func write(_ key: PrivateKey, _ file: String, to folder: URL) throws {
        let builder = try CertificateBuilder(
            commonName: file, publicKey: key.publicKey, notBefore: 1_704_067_200, notAfter: 2_335_219_199)
        let certificate = try builder.selfSigned(by: key)
        let bundle = try PKCS12.create(
            [.init(key, certificate, friendlyName: file)], password: Secret(capacity: 0) { _ in }, iterations: 1)
        try Data(bundle).write(to: folder.appendingPathComponent(file + ".p12"))
        let text = file == "auth-9a" ? Data(certificate.pem.utf8) : Data(certificate.der)
        try text.write(to: folder.appendingPathComponent(file + ".crt"))
    }
}
