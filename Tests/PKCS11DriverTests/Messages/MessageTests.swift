import CryptokiNames
import Foundation
import SecureBytes
import Testing

@testable import PKCS11Driver

@Suite struct MessageTests {
    static let requests: [ModuleRequest] = [
        .tokens, .token(slot: 0), .objects(slot: .max), .logIn(slot: 1), .logOut(slot: 2),
        .perform(
            slot: 3,
            KeyUse(
                kind: .derive, id: [1, 2], label: [], publicKey: [3],
                candidateMechanisms: [KeyMechanism(mechanism: 0x1050, input: [4, 5, 6])], length: 32),
            isTyped: false),
        .perform(
            slot: 4,
            KeyUse(
                kind: .sign, id: [], label: [7], publicKey: [],
                candidateMechanisms: [
                    KeyMechanism(mechanism: 3, input: [8]),
                    KeyMechanism(mechanism: 13, input: [], digest: 0x250, mask: 2, saltLength: 32),
                ]), isTyped: true),
    ]

    @Test(arguments: requests) func aRequestIsReadAsItWasWritten(request: ModuleRequest) throws {
        var writer = FieldWriter()
        request.write(to: &writer)
        var reader = FieldReader(writer.bytes)
        #expect(try ModuleRequest(from: &reader) == request)
        try reader.finish()
    }

    @Test(arguments: requests) func aRequestThatIsCutIsMalformed(request: ModuleRequest) {
        var writer = FieldWriter()
        request.write(to: &writer)
        for count in writer.bytes.indices {
            #expect(throws: MalformedMessage.self) {
                var reader = FieldReader(Array(writer.bytes.prefix(count)))
                _ = try ModuleRequest(from: &reader)
            }
        }
    }

    @Test func aKeyIsUsedInOneWayAtLeast() {
        var writer = FieldWriter()
        ModuleRequest.perform(
            slot: 1, KeyUse(kind: .sign, id: [], label: [], publicKey: [], candidateMechanisms: []), isTyped: false
        )
        .write(to: &writer)
        #expect(throws: MalformedMessage.self) {
            var reader = FieldReader(writer.bytes)
            _ = try ModuleRequest(from: &reader)
        }
    }

    @Test func anObjectIsReadAsItWasWritten() throws {
        var object = ModuleObject(objectClass: 3)
        (object.id, object.label, object.value) = ([1], [2, 2], [3, 3, 3])
        (object.modulus, object.exponent) = ([5], [6])
        (object.parameters, object.point, object.publicKeyInfo) = ([7], [8], [9])
        (object.keyType, object.uses) = (4, [.sign, .alwaysAuthenticate])
        let token = ModuleTokenInfo(
            slot: 1, slotDescription: "s", label: "l", manufacturer: "ma", model: "mo", serialNumber: "sn", flags: 5,
            minimumPINLength: 4, maximumPINLength: 8, firmware: "1.2")
        var writer = FieldWriter()
        writer.write([object, object])
        token.write(to: &writer)
        var reader = FieldReader(writer.bytes)
        #expect(try reader.values(ModuleObject.self) == [object, object])
        #expect(try ModuleTokenInfo(from: &reader) == token)
        try reader.finish()
    }

    /// No memory is allocated for bytes that are only announced.
    @Test func aLengthBeyondTheMessageIsMalformed() {
        #expect(throws: MalformedMessage.self) {
            var reader = FieldReader([0x7F] + [UInt8](repeating: 0xFF, count: 7) + [1, 2, 3])
            _ = try reader.string()
        }
        #expect(throws: MalformedMessage.self) {
            var reader = FieldReader([UInt8](repeating: 0xFF, count: 8))
            _ = try reader.values(ModuleObject.self)
        }
    }

    @Test func bytesAfterTheEndAreMalformed() {
        #expect(throws: MalformedMessage.self) { try FieldReader([0]).finish() }
    }
}

@Suite struct MessageSocketTests {
    private static func pair() throws -> (MessageSocket, MessageSocket) {
        var descriptors: [Int32] = [-1, -1]
        try #require(
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &descriptors) == 0)
        return (MessageSocket(descriptor: descriptors[0]), MessageSocket(descriptor: descriptors[1]))
    }

    private static func soon() -> ContinuousClock.Instant { .now + .milliseconds(50) }

    private static func failure(_ body: () throws(MessageSocket.Failure) -> Void) -> MessageSocket.Failure? {
        do { try body() } catch { return error }
        return nil
    }

    @Test func fieldsAndASecretArriveAsTheyWereSent() throws {
        let (left, right) = try Self.pair()
        let fields = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        let pin = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let sender = Thread { try? left.send(fields, Secret(copying: pin.span), by: nil) }
        sender.start()
        let message = try right.receive(by: nil)
        #expect(message.fields == fields)
        let bytes = message.secret.bytes.indices.map { message.secret.bytes[$0] }
        #expect(bytes == pin)
    }

    @Test func whoDoesNotAnswerIsLate() throws {
        let (left, right) = try Self.pair()
        #expect(Self.failure { () throws(MessageSocket.Failure) in _ = try left.receive(by: Self.soon()) } == .late)
        withExtendedLifetime(right) {}
    }

    /// The time may be over because this process was stopped, or the machine slept.
    @Test func whatCameInTimeIsHeardLater() throws {
        let (left, right) = try Self.pair()
        try left.send([1, 2, 3], Secret(capacity: 0) { _ in }, by: nil)
        #expect(try right.receive(by: .now - .seconds(60)).fields == [1, 2, 3])
        #expect(Self.failure { () throws(MessageSocket.Failure) in _ = try right.receive(by: .now) } == .late)
        withExtendedLifetime(left) {}
    }

    @Test func whoDoesNotReadIsLate() throws {
        let (left, right) = try Self.pair()
        let much = [UInt8](repeating: 1, count: 4 << 20)
        let failure = Self.failure { () throws(MessageSocket.Failure) in
            try left.send(much, Secret(capacity: 0) { _ in }, by: Self.soon())
        }
        #expect(failure == .late)
        withExtendedLifetime(right) {}
    }

    @Test func whoIsGoneHasEnded() throws {
        let (left, right) = try Self.pair()
        close(right.descriptor)
        #expect(Self.failure { () throws(MessageSocket.Failure) in _ = try left.receive(by: nil) } == .ended)
        let failure = Self.failure { () throws(MessageSocket.Failure) in
            try left.send([1], Secret(capacity: 0) { _ in }, by: nil)
        }
        #expect(failure == .ended)
    }

    @Test(
        arguments: [
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], [1, 0, 0, 1, 0, 0, 0, 0],
        ] as [[UInt8]])
    func moreThanAMessageMayHoldIsMalformed(header: [UInt8]) throws {
        let (left, right) = try Self.pair()
        #expect(header.withUnsafeBytes { write(left.descriptor, $0.baseAddress, $0.count) } == 8)
        #expect(
            Self.failure { () throws(MessageSocket.Failure) in _ = try right.receive(by: Self.soon()) } == .malformed)
    }
}
