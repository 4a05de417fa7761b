internal import CryptokiNames
internal import HostAPI
internal import PIVDriver
internal import PKCS11Driver
internal import SSHAgent
internal import SecureBytes
internal import Settings
internal import SystemCrypto
internal import TokenKit
internal import Wire

/// Code that reads bytes which an attacker chooses, and the conditions that must hold for any bytes.
///
/// An input may be refused. Values that can be written as well as read must be written as they were read, unpacked data
/// stay within their limit, and nothing may trap.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case tlv, der, command, response
    case applicationTemplate, cardCapability, chuid, discovery, keyHistory, printedInformation, securityObject
    case certificateObject, gzip, certificate
    case authenticationResponse, keyMetadata, pinMetadata, managementKeyMetadata, attestation
    case administrativeData, keptManagementKey, keyFile, extensionFile
    case uri
    case frame, hello, helloAnswer, call, answer, calls
    case keychainHello, keychainCall, keychainAnswer, keychainCalls
    case hostRequest, hostAnswer, hostQuestion, hostReply, promptAbilities, serviceHello, hostNotice
    case agentRequest, agentAnswer, agentSession
    case keychainSettings, accessRules, disabledDrivers

    /// An input that violates a condition.
    public struct Finding: Error, CustomStringConvertible {
        /// The input and its result.
        public let description: String
    }

    /// Runs the code on an input.
    ///
    /// - Throws: ``Finding`` where a condition does not hold.
    public func run(_ input: [UInt8]) throws(Finding) {
        switch self {
        case .tlv: try expect(DataObjects.rewritten(input, .card), ifAny: input)
        case .der:
            try expect(DataObjects.rewritten(input, .der), ifAny: input)
            try expect(DataObjects.canonical(input), ifAny: input)
        case .command:
            try expect((try? CommandAPDU.parse(input)).flatMap { try? $0.command.encoded($0.form) }, ifAny: input)
        case .response: try expect((try? ResponseAPDU(parsing: input))?.encoded(), ifAny: input)
        case .applicationTemplate: _ = try? ApplicationTemplate(parsing: input)
        case .cardCapability: read(input, .cardCapability) { _ = try? CardCapability(parsing: $0) }
        case .chuid: read(input, .chuid) { _ = try? CardholderIdentifier(parsing: $0) }
        case .discovery: read(input, .discovery) { _ = try? DiscoveryObject(parsing: $0) }
        case .keyHistory: read(input, .keyHistory) { _ = (try? KeyHistory(parsing: $0))?.slots }
        case .printedInformation: read(input, .printedInformation) { _ = try? PrintedInformation(parsing: $0) }
        case .securityObject: read(input, .securityObject) { _ = try? SecurityObject(parsing: $0) }
        case .certificateObject:
            read(input, .authenticationCertificate) { content in
                _ = try? CertificateObject.parse(content)
                _ = RenewalMark(content: content)
            }
        case .gzip: try unpack(input)
        case .certificate: _ = (try? Certificate(der: input))?.spki
        case .authenticationResponse: _ = try? AuthenticationResponse.parse(Secret(copying: input.span))
        case .keyMetadata: _ = (try? KeyMetadata(parsing: input))?.subjectPublicKeyInfo
        case .pinMetadata: _ = try? PINMetadata(parsing: input)
        case .managementKeyMetadata: _ = try? ManagementKeyMetadata(parsing: input)
        case .attestation: _ = try? Attestation(parsing: input)
        case .administrativeData: try rewriteAdministrativeData(input)
        case .keptManagementKey: try rewriteKeptKey(input)
        case .keyFile: try importFile(input)
        case .extensionFile: try rewriteExtensions(input)
        case .uri: try rewrite(input)
        case .frame: try expect((try? FrameHeader(parsing: input))?.encoded(), ifAny: input)
        case .hello: try expect((try? Hello(parsing: input))?.encoded(), ifAny: input)
        case .helloAnswer: try expect((try? HelloAnswer(parsing: input))?.encoded(), ifAny: input)
        case .call: try expect((try? PKCS11Call(parsing: input))?.encoded(), ifAny: input)
        case .answer: try expect((try? PKCS11Answer(parsing: input))?.encoded(), ifAny: input)
        case .calls: try answer(input)
        case .keychainHello: try expect((try? KeychainHello(parsing: input))?.encoded(), ifAny: input)
        case .keychainCall: try expect((try? KeychainCall(parsing: input))?.encoded(), ifAny: input)
        case .keychainAnswer: try expect((try? KeychainAnswer(parsing: input))?.encoded(), ifAny: input)
        case .keychainCalls: try answerKeychainCalls(input)
        case .hostRequest:
            try expectSame(input) { (fields, lane) in
                (try? HostRequest.parse(fields, lane: lane)).map { $0.0.message($0.1) }
            }
        case .hostAnswer: try expectSame(input) { try? HostAnswer(parsing: $0, lane: $1).message() }
        case .hostQuestion: try expectSame(input) { try? HostQuestion(parsing: $0, lane: $1).message() }
        case .hostReply: try expectSame(input) { try? HostReply(parsing: $0, lane: $1).message() }
        case .promptAbilities: try expectSame(input) { try? PromptAbilities(parsing: $0, lane: $1).message() }
        case .serviceHello: try expect((try? ServiceHello(parsing: input))?.encoded(), ifAny: input)
        case .hostNotice: try expectSame(input) { try? HostNotice(parsing: $0, lane: $1).message() }
        case .agentRequest: try expect((try? AgentRequest.parse(input.span))?.encoded(), ifAny: input)
        case .agentAnswer: try expect((try? AgentAnswer(parsing: input.span))?.encoded(), ifAny: input)
        case .keychainSettings: try rewriteSettings(input, as: PreferencesText.self)
        case .accessRules:
            _ = String(validating: input, as: UTF8.self).map { try? AccessRules(parsing: $0, of: "FILE") }
        case .disabledDrivers: try rewriteSettings(input, as: DisabledDrivers.self)
        case .agentSession:
            guard let answer = AgentMessages(parsing: input).unreadableAnswer else { return }
            throw Finding(description: "\(self): \(Hex.encode(input)) is answered by \(Hex.encode(answer))")
        }
    }

    /// The fields and the secrets of a message. The first byte of the input is the length of the secrets, which are last.
    private static func parts(of input: [UInt8]) -> (fields: [UInt8], lane: [UInt8]) {
        let rest = input.dropFirst()
        let count = min(Int(input.first ?? 0), rest.count)
        return (Array(rest.dropLast(count)), Array(rest.suffix(count)))
    }

    private static func joined(_ message: MessageWriter) -> [UInt8] {
        let lane = message.lane.copied()
        return [UInt8(clamping: lane.count)] + message.bytes + lane
    }

    /// Checks that a message is written again as it was read.
    private func expectSame(
        _ input: [UInt8], _ rewritten: ([UInt8], consuming Secret) -> MessageWriter?
    ) throws(Finding) {
        let (fields, lane) = FuzzTarget.parts(of: input)
        try expect(rewritten(fields, Secret(copying: lane.span)).map(FuzzTarget.joined), ifAny: input)
    }

    func expect(_ output: [UInt8]?, ifAny input: [UInt8]) throws(Finding) {
        guard let output, output != input else { return }
        throw Finding(description: "\(self): \(Hex.encode(input)) came out as \(Hex.encode(output))")
    }

    /// Checks that a URI, once read and written, is written the same way again.
    private func rewrite(_ input: [UInt8]) throws(Finding) {
        guard let text = String(validating: input, as: UTF8.self), let uri = try? PKCS11URI(text) else { return }
        _ = try? uri.pinFile()
        let (written, again) = (uri.description, (try? PKCS11URI(uri.description))?.description)
        guard again != written else { return }
        throw Finding(description: "\(self): \(written) came out as \(again ?? "nothing")")
    }

    /// Checks that settings are written as they were read, with a line feed at their end.
    private func rewriteSettings<Text: SettingsText>(_ input: [UInt8], as type: Text.Type) throws(Finding) {
        guard let text = String(validating: input, as: UTF8.self), let settings = try? Text(parsing: text, of: "FILE")
        else { return }
        let written = Array(settings.text.utf8)
        if written != input + [UInt8(ascii: "\n")] { try expect(written, ifAny: input) }
    }

    /// Checks that each call of a client has an answer that the client can read.
    private func answer(_ input: [UInt8]) throws(Finding) {
        let unreadable: String?
        do { unreadable = try BridgeCalls(parsing: input).run() } catch {
            throw Finding(description: "\(self): the host cannot be made: \(error)")
        }
        guard let unreadable else { return }
        throw Finding(description: "\(self): no readable answer to \(unreadable)")
    }

    /// Checks that each call of the C library has an answer that the library can read.
    private func answerKeychainCalls(_ input: [UInt8]) throws(Finding) {
        let unreadable: String?
        do { unreadable = try LibraryCalls(parsing: input).run() } catch {
            throw Finding(description: "\(self): the host cannot be made: \(error)")
        }
        guard let unreadable else { return }
        throw Finding(description: "\(self): no readable answer to \(unreadable)")
    }

    private func read(_ input: [UInt8], _ container: PIVContainer, _ parse: ([UInt8]) -> Void) {
        if let content = try? PIVFormat.content(of: input, in: container) { parse(content) }
    }

    private func unpack(_ input: [UInt8]) throws(Finding) {
        let limit = 4096
        guard let unpacked = try? Inflate.unpack(input, limit: limit), unpacked.count > limit else { return }
        throw Finding(description: "\(self): \(Hex.encode(input)) became \(unpacked.count) bytes")
    }
}

/// Nested data objects, for the fuzz targets that read them.
private enum DataObjects {
    /// All objects written again; nil where one of them, however deep, is malformed.
    static func rewritten(_ bytes: [UInt8], _ rules: TLVRules) -> [UInt8]? {
        var reader = TLVReader(bytes, rules)
        return (try? reader.all()).flatMap { try? $0.map(rewritten).reduce([], +) }
    }

    /// All objects written in the canonical form of DER; nil where one of them is malformed.
    static func canonical(_ bytes: [UInt8]) -> [UInt8]? {
        var reader = TLVReader(bytes, .der)
        return (try? reader.all())?.flatMap { TLV($0.tag, $0.value).encoded() }
    }

    private static func rewritten(_ object: TLV) throws(TLVError) -> [UInt8] {
        if object.tag.octets[0] & 0x20 != 0 {
            var children = try object.children()
            for child in try children.all() { _ = try rewritten(child) }
        }
        return object.encoded()
    }
}
