import Glibc
import HostAPI
import HostConnection
import KeychainModel
import Localization
import PIVDriver
import PKCS11Bridge
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import TokenKit
import VirtualCard
import Wire
import WireTransport

@testable import HostServer
@testable import KeychainHost

/// The way in which requests reach the host.
enum ServiceRoute: String, Sendable, CaseIterable {
    /// By a call.
    case call
    /// By messages: each request and each answer is written and parsed.
    case message
    /// Over sockets, as from another process.
    case socket

    private static let heartbeat = {
        let heartbeat = Heartbeat()
        heartbeat.start()
        return heartbeat
    }()

    /// The prompter through which the host's questions reach a client's person by messages.
    private static func prompter(asking person: some Prompter) -> ClientPrompter {
        ClientPrompter { notice in
            switch notice {
            case .remark(let text), .message(let text, _): person.tell(text)
            case .wait, .over: break
            }
        } exchange: { (question, _) throws(KeychainError) in
            do {
                let asked = question.message()
                let reply = person.reply(to: try HostQuestion(parsing: asked.bytes, lane: asked.lane)).message()
                return try HostReply(parsing: reply.bytes, lane: reply.lane)
            } catch {
                throw KeychainError(.internal, "\(error)")
            }
        }
    }

    /// The service of a host as a front end uses it on this route.
    ///
    /// - Parameter person: the person whom the client asks.
    func service(of host: Host, asking person: any Prompter = NoPrompter()) throws -> any KeychainService {
        switch self {
        case .call: return host.asking(person)
        case .message: return messageService(of: host.asking(Self.prompter(asking: person)))
        case .socket:
            let host = SocketClient.Host { () throws(KeychainError) in try Self.serve(host) }
            return SocketClient(of: [host], prompter: person, environment: []).service
        }
    }

    /// The client's end of a socket at which a host serves.
    static func serve(_ host: Host) throws(KeychainError) -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw KeychainError(.internal, "\(SystemError().reason)")
        }
        let served = FrameSocket(ends[1])
        let make = ClientMaker(module: { _, _, _ in Cryptoki(host) }, service: { _, _ in host })
        BlockingThread.start { Greeting.serve(served, heartbeat, make) }
        return ends[0]
    }

    private func messageService(of host: Host) -> any KeychainService {
        WireService {
            host.cancel($0)
        } exchange: { (request, context) throws(KeychainError) in
            do {
                let message = request.message(context)
                let (request, context) = try HostRequest.parse(message.bytes, lane: message.lane)
                let answer = host.answer(request, context).message()
                return try HostAnswer(parsing: answer.bytes, lane: answer.lane)
            } catch {
                throw KeychainError(.internal, "\(error)")
            }
        }
    }
}

/// A host with a card and two keychains, and its service as a front end uses it.
struct ServiceStage {
    let user: TestUser
    let login: LocalKeychain
    let work: LocalKeychain
    let card: VirtualCard
    let reader: VirtualReader
    /// The person whom the host asks.
    let person: TypesInTurn
    /// The person whom the client asks.
    let clientPerson: TypesInTurn
    let host: Host
    let service: any KeychainService

    init(
        _ route: ServiceRoute, _ testCard: TestCard = TestCard(), otherCards: [TestCard] = [],
        person: TypesInTurn = TypesInTurn(),
        clientPerson: TypesInTurn = TypesInTurn(), cards: SharedCards? = nil,
        files: SharedKeychains = SharedKeychains(), permission: Permission? = nil
    ) throws {
        let user = try TestUser()
        (login, work) = (try user.create("login"), try user.create("work"))
        try user.preferences.setSearchList([login.path, work.path])
        try user.preferences.setDefaultKeychain(login.path)
        let card = try testCard.make()
        let reader = VirtualReader(name: "Desk Reader", card: card)
        let others = try otherCards.enumerated().map { VirtualReader(name: "Reader \($0)", card: try $1.make()) }
        let process = ServiceStage.process(of: user, [reader] + others, cards, files)
        for keychain in [login, work] { process.adopt(keychain) }
        let host = Host(process, accessGroups: .all, prompter: person)
        self.host = permission.map { host.asking(for: $0) } ?? host
        service = try route.service(of: self.host, asking: clientPerson)
        (self.user, self.card, self.reader, self.person, self.clientPerson) = (user, card, reader, person, clientPerson)
    }

    private static func process(
        of user: TestUser, _ readers: [VirtualReader], _ cards: SharedCards?, _ files: SharedKeychains
    ) -> ProcessKeychains {
        ProcessKeychains(
            user.preferences, sharedCards: cards, files: files,
            drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)] },
            readers: { readers })
    }

    /// Another client of the host, with the same card and settings.
    ///
    /// - Parameters:
    ///   - cards: the cards that the clients of the host share.
    ///   - files: the keychain files that they share.
    ///   - permission: the way to a person's permission for what the client does.
    init(
        _ route: ServiceRoute, of other: ServiceStage, person: TypesInTurn = TypesInTurn(), cards: SharedCards?,
        files: SharedKeychains = SharedKeychains(), permission: Permission? = nil
    ) throws {
        (user, login, work, card) = (other.user, other.login, other.work, other.card)
        (reader, self.person, clientPerson) = (other.reader, person, TypesInTurn())
        let host = Host(ServiceStage.process(of: user, [reader], cards, files), accessGroups: .all, prompter: person)
        self.host = permission.map { host.asking(for: $0) } ?? host
        service = try route.service(of: self.host, asking: clientPerson)
    }

    var token: KeychainIdentifier {
        get throws { try service.keychains(RequestContext()).found[0].identifier }
    }

    /// The identity of a key on the card.
    func identity(_ slot: CardKeyReference = .authentication) throws -> Identity {
        let hash = try TestCard().key(slot).publicKey.keyHash
        let found = try service.identities(.identities.where(.applicationLabel, hash)).found
        guard let identity = found.first else { throw KeychainError(.itemNotFound, "\(slot)") }
        return identity
    }

    static let digest = [UInt8](repeating: 7, count: 32)
    static let algorithm = KeyAlgorithm.signature(.ecdsa(.sha256))

    func sign(
        _ slot: CardKeyReference = .authentication, _ context: RequestContext = RequestContext()
    ) throws -> [UInt8] {
        let request = KeyRequest(
            .sign(ServiceStage.digest), ServiceStage.algorithm, with: try identity(slot).key.reference)
        return try service.perform(request, context).secret.copiedBytes
    }

    func isSignature(_ signature: [UInt8], of slot: CardKeyReference = .authentication) throws -> Bool {
        try TestCard().key(slot).publicKey.verify(
            signature, of: ServiceStage.digest, using: .signature(.ecdsa(.sha256)))
    }

    /// Commands that had a PIN in them.
    var pinsSent: Int { reader.log.count { [0x20, 0x24, 0x2C].contains($0.ins) && $0.dataCount > 0 } }

    @discardableResult
    func addPassword(_ account: String, _ secret: String = "s3cret", to keychain: LocalKeychain? = nil) throws -> Item {
        let attributes = ItemAttributes<GenericPasswords>().setting(.service, "mail").setting(.account, account)
        return try service.add(.genericPassword(attributes, secret: .of(secret)), to: keychain?.identifier)
    }

    func accounts() throws -> [String] {
        try service.items(.genericPasswords.where(.service, "mail")).found.compactMap { $0[.account]?.string }
    }
}
