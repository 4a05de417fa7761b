import HostAPI
import SecureBytes
import SystemCrypto
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Keys through the host's face: PIN rules, removal, and a fault at every command.
@Suite(.serialized) struct ServiceKeyTests {
    @Test(arguments: ServiceRoute.allCases) func oneQuestionServesForTheSession(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        for _ in 1...2 { #expect(try stage.isSignature(try stage.sign())) }
        #expect(stage.person.requests.map(\.purpose) == [.pin])
        #expect(stage.person.requests.first?.use == "sign with key 9A")
        #expect(stage.pinsSent == 1)
    }

    @Test(arguments: ServiceRoute.allCases) func theClientIsAskedWhereItSaysSo(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, clientPerson: TypesInTurn("123456"))
        let context = RequestContext(purpose: "sign a letter", questions: .byClient)
        #expect(try stage.isSignature(try stage.sign(.signature, context), of: .signature))
        #expect(stage.person.requests.isEmpty)
        #expect(stage.clientPerson.requests.map(\.use) == ["sign a letter with key 9C"])
    }

    @Test(arguments: ServiceRoute.allCases) func nobodyIsAskedAndNothingSentWithoutLeave(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        let error = #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.sign(.authentication, RequestContext(questions: .never))
        }
        #expect(error?.remedy != nil)
        #expect(stage.person.requests.isEmpty)
        #expect(stage.pinsSent == 0)
        #expect(stage.card.triesLeft == 3)
    }

    @Test(arguments: ServiceRoute.allCases) func aRejectedPINIsNeverSentAgain(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let wrong = RequestContext(credentials: [.init(.pin, .of("654321"))])
        let error = #expect(throws: KeychainError(.authFailed)) { try stage.sign(.authentication, wrong) }
        #expect(error?.triesLeft == 2)
        #expect(throws: KeychainError(.authFailed)) { try stage.sign(.authentication, wrong) }
        #expect(stage.pinsSent == 1)
        #expect(stage.card.triesLeft == 2)
        let right = RequestContext(credentials: [.init(.pin, .of("123456"))])
        #expect(try stage.isSignature(try stage.sign(.authentication, right)))
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func theLastTryIsKeptUnlessSomebodyAgrees(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, TestCard(pinTries: 1))
        var context = RequestContext(credentials: [.init(.pin, .of("123456"))])
        #expect(throws: KeychainError.self) { try stage.sign(.authentication, context) }
        #expect(stage.pinsSent == 0)
        #expect(stage.card.triesLeft == 1)
        context.mayUseLastTry = true
        #expect(try stage.isSignature(try stage.sign(.authentication, context)))
    }

    @Test(arguments: ServiceRoute.allCases) func aWrongInputIsRefusedBeforeAnybodyIsAsked(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        let key = try stage.identity().key.reference
        for algorithm: KeyAlgorithm in [.signature(.rsaPKCS1(.sha256)), .encryption(.pkcs1), .aesGCM] {
            #expect(throws: KeychainError(.param)) {
                try stage.service.perform(KeyRequest(.sign([1]), algorithm, with: key), RequestContext())
            }
        }
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func keysInFilesSignDecryptAndAgree(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let rsa = try TestKey.named("anna", .rsa(bits: 2048))
        let ec = try TestKey.named("berta")
        let aes = try stage.login.generateSymmetricKey()
        let own = try stage.service.add(.privateKey(rsa.privateKey, [:])).reference
        let curve = try stage.service.add(.privateKey(ec.privateKey, [:]), to: stage.work.identifier).reference
        func perform(_ operation: KeyRequest.Operation, _ algorithm: KeyAlgorithm, _ key: PersistentReference) throws
            -> [UInt8]
        {
            try stage.service.perform(KeyRequest(operation, algorithm, with: key), RequestContext()).secret.copiedBytes
        }
        let signature = try perform(.sign([1, 2, 3]), .messageSignature(.rsaPSS(.sha256)), own)
        #expect(try rsa.publicKey.verify(signature, of: [1, 2, 3], using: .messageSignature(.rsaPSS(.sha256))))
        let ciphertext = try rsa.publicKey.encrypt([9, 8].span, using: .encryption(.oaep(.sha256)), sharedInfo: [])
        #expect(try perform(.decrypt(ciphertext), .encryption(.oaep(.sha256)), own) == [9, 8])
        let peer = try TestKey.named("carl")
        let shared = try perform(
            .exchange(peer: peer.publicKey.rawRepresentation, KeyExchangeParameters()), .keyExchange(.standard, nil),
            curve)
        #expect(shared.count == 32)
        let code = try perform(.sign([1]), .hmac(.sha256), stage.login.generateSymmetricKey(type: .hmac).reference)
        #expect(code.count == 32)
        #expect(throws: KeychainError(.param)) { try perform(.sign([1]), .hmac(.sha256), aes.reference) }
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func anIdentityNamesItsKey(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        let identity = try stage.identity()
        let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: identity.reference)
        #expect(try stage.isSignature(stage.service.perform(request, RequestContext()).secret.copiedBytes))
        let lone = try stage.service.add(.certificate(TestKey.named("lone").certificate))
        #expect(throws: KeychainError(.itemNotFound)) {
            try stage.service.perform(
                KeyRequest(.sign([1]), ServiceStage.algorithm, with: lone.reference.retyped(as: .identity)),
                RequestContext())
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aCardThatIsOutIsAskedFor(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        let key = try stage.identity().key.reference
        let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key)
        stage.reader.remove()
        let error = #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.perform(request, RequestContext())
        }
        #expect(error?.remedy == "insert it")
        #expect(stage.person.requests.isEmpty)
        stage.reader.insert(stage.card)
        #expect(try stage.isSignature(stage.service.perform(request, RequestContext()).secret.copiedBytes))
    }

    /// Whatever goes wrong at whatever command, the answer is a right signature or an error, no PIN is spent, and the next request works.
    @Test(arguments: [CardFault.remove, .reset, .drop, .status(.memoryFailure), .truncate(to: 1)])
    func aFaultAtAnyCommandCostsNoTry(fault: CardFault) throws {
        for index in 0..<12 {
            let stage = try ServiceStage(.message)
            let context = RequestContext(credentials: [.init(.pin, .of("123456"))])
            let key = try stage.identity().key.reference
            let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key)
            stage.reader.faults.order(fault, at: index)
            do {
                let signature = try stage.service.perform(request, context).secret.copiedBytes
                #expect(try stage.isSignature(signature))
            } catch let error as KeychainError {
                #expect(error.code != .authFailed, "\(index): \(error)")
                #expect(!error.reason.isEmpty)
            }
            #expect(stage.card.triesLeft == 3, "\(index)")
            if fault == .remove { stage.reader.insert(stage.card) }
            stage.reader.faults.clear()
            #expect(try stage.isSignature(stage.service.perform(request, context).secret.copiedBytes), "\(index)")
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aPINIsChangedAndUnblocked(route: ServiceRoute) throws {
        let person = TypesInTurn("123456", "87654321", "12345678", "111222")
        let stage = try ServiceStage(route, person: person)
        let token = try stage.token
        try stage.service.administer(token, .changePIN, RequestContext())
        try stage.service.administer(token, .unblockPIN, RequestContext())
        let context = RequestContext(credentials: [.init(.pin, .of("111222"))])
        #expect(try stage.isSignature(try stage.sign(.authentication, context)))
        #expect(throws: KeychainError(.param)) {
            try stage.service.administer(stage.login.identifier, .changePIN, RequestContext())
        }
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.administer(KeychainIdentifier(rawValue: "piv:none"), .changePIN, RequestContext())
        }
    }

    @Test(arguments: ServiceRoute.allCases) func lockingEndsTheLoginOfCardsAndFiles(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456", "p", "123456"))
        let token = try stage.token
        try stage.service.unlock(token, RequestContext())
        #expect(try stage.service.lock(nil, RequestContext()).isEmpty)
        #expect(stage.login.isLocked && stage.work.isLocked)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.sign(.authentication, RequestContext(questions: .never))
        }
        try stage.service.unlock(stage.login.identifier, RequestContext())
        #expect(!stage.login.isLocked)
        try stage.service.unlock(token, RequestContext())
        #expect(try stage.isSignature(try stage.sign(.authentication, RequestContext(questions: .never))))
        #expect(try stage.service.lock(token, RequestContext()).isEmpty)
        #expect(try stage.service.lock(stage.login.identifier, RequestContext()).isEmpty)
        #expect(stage.login.isLocked)
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.lock(KeychainIdentifier(rawValue: "local:none"), RequestContext())
        }
    }
}
