import HostAPI
import ItemDictionaries
import SecureBytes
import Synchronization
import SystemCrypto
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Where a behaviour case is played.
enum Venue: String, Sendable, CaseIterable {
    /// A local keychain.
    case local
    /// A virtual card alone.
    case token
    /// A virtual card, then a local keychain.
    case merged
}

/// One of the numbered cases of keychain semantics 6, played wherever it applies.
struct BehaviourCase: Sendable, CustomTestStringConvertible {
    let number: Int
    let name: String
    let places: [Venue]
    let play: @Sendable (Stage) throws -> Void

    init(
        _ number: Int, _ name: String, on places: [Venue] = Venue.allCases,
        play: @escaping @Sendable (Stage) throws -> Void
    ) {
        (self.number, self.name, self.places, self.play) = (number, name, places, play)
    }

    var testDescription: String { "\(number): \(name)" }

    static let all = adding + uniqueness + certificates + tokens

    /// Every case at every place.
    static let runs = all.flatMap { behaviour in
        behaviour.places.flatMap { place in
            ServiceRoute.allCases.map { BehaviourRun(behaviour: behaviour, place: place, route: $0) }
        }
    }
}

struct BehaviourRun: Sendable, CustomTestStringConvertible {
    let behaviour: BehaviourCase
    let place: Venue
    let route: ServiceRoute

    var testDescription: String { "\(behaviour.testDescription), \(place.rawValue), by \(route.rawValue)" }
}

/// Keychains that a process has opened beside those of the search list.
final class OpenedKeychains: Sendable {
    private let keychains = Mutex<[LocalKeychain]>([])

    var all: [LocalKeychain] { keychains.withLock { $0 } }

    func add(_ keychain: LocalKeychain) { keychains.withLock { $0.append(keychain) } }
}

/// The keychains that a case is played with.
struct Stage {
    let place: Venue
    /// The local keychain, unlocked. It is part of the session except on ``Venue/token``.
    let local: TestKeychain
    let desk: Desk?
    let session: KeychainSession
    private let service: any KeychainService
    private let opened = OpenedKeychains()

    init(_ place: Venue, _ route: ServiceRoute = .call) throws {
        self.place = place
        local = try TestKeychain()
        desk = place == .local ? nil : try Desk()
        session = KeychainSession(
            searchList: SearchList(
                tokens: desk.map { [$0.token] } ?? [], locals: place == .token ? [] : [local.keychain]),
            defaultKeychain: place == .token ? nil : local.keychain, openedKeychains: { [opened] in opened.all })
        service = try route.service(of: session.host)
    }

    /// Has the process open a keychain that is not in the search list.
    func open(_ keychain: TestKeychain) { opened.add(keychain.keychain) }

    /// Whether there is a keychain to write to.
    var isWritable: Bool { place != .token }

    /// Adds an identity to the local keychain, if the place has one, so that every place has an identity.
    @discardableResult
    func withIdentity(_ name: String = "anna") throws -> Stage {
        guard isWritable else { return self }
        let key = try TestKey.named(name)
        try local.add(key.privateKey)
        try local.add(key.certificate)
        return self
    }

    /// How many identities there are after ``withIdentity(_:)``.
    var identityCount: Int { (desk == nil ? 0 : 4) + (isWritable ? 1 : 0) }

    /// Any certificate that the place has after ``withIdentity(_:)``, and the common name of its subject.
    func certificate() throws -> (certificate: Certificate, name: String) {
        let key = try isWritable ? TestKey.named("anna") : TestCard().key(.authentication)
        return (key.certificate, try #require(key.certificate.commonName))
    }

    // MARK: The four calls, in words

    @discardableResult
    func add(_ item: ItemDictionary) throws -> ItemValue? { try service.add(item) }

    @discardableResult
    func addPassword(_ account: String = "anna", service: String = "mail", _ more: ItemDictionary = [:]) throws
        -> ItemValue?
    {
        let item: ItemDictionary = [
            "class": .string("genp"), "acct": .string(account), "svce": .string(service),
            "v_Data": .data(Array("s3cret".utf8)),
        ]
        return try add(item.merging(more) { $1 })
    }

    func copy(_ query: ItemDictionary) throws -> ItemValue? { try service.copyMatching(query).found }

    @discardableResult
    func update(_ query: ItemDictionary, to changes: ItemDictionary) throws -> Outcome<Int> {
        try service.update(query, to: changes)
    }

    @discardableResult
    func delete(_ query: ItemDictionary) throws -> Outcome<Int> { try service.delete(query) }

    /// All that match, each as a dictionary of its attributes.
    func all(_ itemClass: String, _ query: ItemDictionary = [:]) throws -> [ItemDictionary] {
        let fixed: ItemDictionary = [
            "class": .string(itemClass), "m_Limit": .string("m_LimitAll"), "r_Attributes": .bool(true),
        ]
        do {
            let found = try copy(fixed.merging(query) { $1 })
            return try #require(found?.array).map { try #require($0.dictionary) }
        } catch let error as KeychainError where error.code == .itemNotFound {
            return []
        }
    }
}

extension ItemValue {
    var array: [ItemValue]? { if case .array(let values) = self { values } else { nil } }
    var dictionary: ItemDictionary? { if case .dictionary(let values) = self { values } else { nil } }
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var number: Int64? { if case .number(let number) = self { number } else { nil } }

    /// The bytes of data or of a secret.
    var bytes: [UInt8]? {
        switch self {
        case .data(let bytes): bytes
        case .secret(let shared): shared.secret.copiedBytes
        default: nil
        }
    }

    var item: Item? { if case .reference(.item(let item)) = self { item } else { nil } }
    var identity: Identity? { if case .reference(.identity(let identity)) = self { identity } else { nil } }
}

/// Expects a failure of this code that names this key.
func expect<Result>(
    _ code: ErrSec, key: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Result
) {
    let error = #expect(throws: KeychainError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    if let key { #expect(error?.key == key, sourceLocation: sourceLocation) }
}

@Suite struct BehaviourTests {
    private static let played = Mutex<[Venue: Int]>([:])

    @Test(arguments: BehaviourCase.runs)
    func behavesAsSpecified(run: BehaviourRun) throws {
        try run.behaviour.play(Stage(run.place, run.route))
        let counts = Self.played.withLock { played in
            played[run.place, default: 0] += 1
            return played
        }
        guard counts.values.reduce(0, +) == BehaviourCase.runs.count else { return }
        print("behaviour cases: " + Venue.allCases.map { "\(counts[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", "))
    }

    @Test func everyCaseIsPlayedSomewhereAndOnce() {
        #expect(BehaviourCase.all.allSatisfy { !$0.places.isEmpty })
        #expect(Set(BehaviourCase.all.map(\.testDescription)).count == BehaviourCase.all.count)
    }
}
