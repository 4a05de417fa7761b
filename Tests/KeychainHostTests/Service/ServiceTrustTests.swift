import HostAPI
import SecureBytes
import SystemCrypto
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Judgements of certificates through `KeychainService`.
@Suite struct ServiceTrustTests {
    private let authority: PrivateKey
    private let middleKey: PrivateKey
    private let root: Certificate
    private let middle: Certificate
    private let leaf: Certificate
    private let context = RequestContext()

    init() throws {
        (authority, middleKey) = (try PrivateKey.generate(.ecP256), try PrivateKey.generate(.ecP256))
        root = try Self.builder("root", authority).selfSigned(by: authority)
        middle = try Self.builder("middle", middleKey).issued(by: root, key: authority)
        leaf = try Self.builder("leaf", PrivateKey.generate(.ecP256), isCA: false).issued(by: middle, key: middleKey)
    }

    private static func builder(_ name: String, _ key: PrivateKey, isCA: Bool = true) throws -> CertificateBuilder {
        var builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.isCA = isCA
        return builder
    }

    private func request(_ change: (inout ChainRequest) -> Void = { _ in }) -> ChainRequest {
        var request = ChainRequest(leaf)
        (request.anchors, request.trustsSystem, request.time) = ([root], false, 1_700_000_000)
        change(&request)
        return request
    }

    @Test(arguments: ServiceRoute.allCases) func certificatesOfKeychainsCompleteAChain(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        guard case .untrusted = try stage.service.judge(request(), context).found else {
            Issue.record("a chain without its middle")
            return
        }
        #expect(
            try stage.service.judge(request { $0.helpers = [middle] }, context).found == .trusted([leaf, middle, root]))
        try stage.service.add(.certificate(middle), to: stage.work.identifier)
        #expect(try stage.service.judge(request(), context).found == .trusted([leaf, middle, root]))
        let named = request { $0.keychains = [stage.work.identifier] }
        #expect(try stage.service.judge(named, context).found == .trusted([leaf, middle, root]))
        for keychains in [[], [stage.login.identifier]] {
            let outcome = try stage.service.judge(request { $0.keychains = keychains }, context)
            guard case .untrusted(_, depth: 0) = outcome.found else {
                Issue.record("\(outcome.found)")
                continue
            }
            #expect(outcome.missing.isEmpty)
        }
        let absent = request {
            $0.keychains = [KeychainIdentifier(rawValue: "local:none")]
            $0.helpers = [middle]
        }
        let outcome = try stage.service.judge(absent, context)
        #expect(outcome.found == .trusted([leaf, middle, root]))
        #expect(outcome.missing.map(\.error.code) == [.noSuchKeychain])
    }

    @Test(arguments: ServiceRoute.allCases) func timeAnchorsAndListsCount(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        func isTrusted(_ change: (inout ChainRequest) -> Void) throws -> Bool {
            let request = self.request {
                $0.helpers = [middle]
                change(&$0)
            }
            guard case .trusted = try stage.service.judge(request, context).found else { return false }
            return true
        }
        #expect(try !isTrusted { $0.time = 1_950_000_000 })
        #expect(try !isTrusted { $0.anchors = [middle] })
        #expect(
            try isTrusted {
                $0.anchors = [middle]
                $0.endsAtAnyAnchor = true
            })
        let list = ChainRequest.Revocation(files: [], isRequired: true)
        #expect(try !isTrusted { $0.revocation = list })
        #expect(throws: KeychainError(.decode)) {
            try isTrusted {
                $0.revocation = ChainRequest.Revocation(files: [SharedSecret(.of("none"))], isRequired: false)
            }
        }
    }

    @Test(arguments: ServiceRoute.allCases) func theSystemsRootsAreTold(route: ServiceRoute) throws {
        let user = try TestUser()
        let host = Host(
            ProcessKeychains(user.preferences, readers: { [] }), accessGroups: .all,
            trustAnchors: .certificates([root]), prompter: NoPrompter())
        let service = try route.service(of: host)
        #expect(try service.trustedRoots(context) == [root])
        let request = self.request { ($0.helpers, $0.anchors, $0.trustsSystem) = ([middle], [], true) }
        #expect(try service.judge(request, context).found == .trusted([leaf, middle, root]))
    }
}
