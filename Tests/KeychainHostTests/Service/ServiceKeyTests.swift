import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Keys through `KeychainService`: PIN rules, removal, and a fault at every command.
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

    @Test(arguments: ServiceRoute.allCases) func keysThatNoKeychainHasAreUsed(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let rsa = try TestKey.named("anna", .rsa(bits: 2048))
        let (own, other) = (try TestKey.named("berta"), try TestKey.named("carl"))
        func perform(_ operation: KeyRequest.Operation, _ algorithm: KeyAlgorithm, _ key: NewItem) throws -> [UInt8] {
            let request = KeyRequest(operation, algorithm, with: .given(GivenKey(key)))
            return try stage.service.perform(request, RequestContext()).secret.copiedBytes
        }
        func plaintext() -> SharedSecret { SharedSecret(Secret(copying: [9, 8].span)) }
        let (pair, half) = (try NewItem.privateKey(rsa.privateKey), try NewItem.publicKey(rsa.publicKey))
        let pss = KeyAlgorithm.messageSignature(.rsaPSS(.sha256))
        let signature = try perform(.sign([1, 2, 3]), pss, pair)
        for key in [pair, half] {
            #expect(try perform(.verify(signature, of: [1, 2, 3]), pss, key).isEmpty)
            #expect(throws: KeychainError(.verifyFailed)) { try perform(.verify(signature, of: [1, 2]), pss, key) }
            let ciphertext = try perform(.encrypt(plaintext()), .encryption(.oaep(.sha256)), key)
            #expect(try perform(.decrypt(ciphertext), .encryption(.oaep(.sha256)), pair) == [9, 8])
        }
        for operation: KeyRequest.Operation in [.sign([1]), .decrypt([1]), .exchange(peer: [], .init())] {
            #expect(throws: KeychainError(.param)) { try perform(operation, pss, half) }
        }
        let agreed = try [(own, other), (other, own)].map { own, peer in
            try perform(
                .exchange(peer: peer.publicKey.rawRepresentation, .init()), .keyExchange(.standard, nil),
                .privateKey(own.privateKey))
        }
        #expect(agreed[0] == agreed[1] && agreed[0].count == 32)
        let cipher = try NewItem.symmetricKey(Secret(copying: [UInt8](repeating: 7, count: 32).span))
        let sealed = try perform(.encrypt(plaintext()), .aesGCM, cipher)
        #expect(try perform(.decrypt(sealed), .aesGCM, cipher) == [9, 8])
        #expect(throws: KeychainError(.decode)) { try perform(.decrypt(sealed.dropLast() + [0, 1]), .aesGCM, cipher) }
        let code = try NewItem.symmetricKey(Secret(copying: [UInt8](repeating: 7, count: 32).span), type: .hmac)
        let tag = try perform(.sign([1]), .hmac(.sha256), code)
        #expect(try perform(.verify(tag, of: [1]), .hmac(.sha256), code).isEmpty)
        #expect(throws: KeychainError(.verifyFailed)) { try perform(.verify(tag, of: [2]), .hmac(.sha256), code) }
        #expect(throws: KeychainError(.param)) {
            try perform(.exchange(peer: [4], .init()), .keyExchange(.standard, nil), code)
        }
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aSymmetricKeyOfAFileEncryptsAndChecks(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let aes = try stage.login.generateSymmetricKey().reference
        let hmac = try stage.login.generateSymmetricKey(type: .hmac).reference
        func perform(_ operation: KeyRequest.Operation, _ algorithm: KeyAlgorithm, _ key: PersistentReference) throws
            -> [UInt8]
        {
            try stage.service.perform(KeyRequest(operation, algorithm, with: key), RequestContext()).secret.copiedBytes
        }
        let sealed = try perform(.encrypt(SharedSecret(Secret(copying: [1].span))), .aesGCM, aes)
        #expect(try perform(.decrypt(sealed), .aesGCM, aes) == [1])
        let code = try perform(.sign([1]), .hmac(.sha384), hmac)
        #expect(try perform(.verify(code, of: [1]), .hmac(.sha384), hmac).isEmpty)
        #expect(throws: KeychainError(.verifyFailed)) { try perform(.verify([], of: [1]), .hmac(.sha384), hmac) }
        #expect(throws: KeychainError(.param)) { try perform(.verify(code, of: [1]), .hmac(.sha384), aes) }
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyTellsItsAlgorithmsWithoutAQuestion(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        let key = KeyRequest.Key.item(try stage.identity().key.reference)
        let aes = KeyRequest.Key.item(try stage.login.generateSymmetricKey().reference)
        stage.login.lock()
        func can(_ operation: KeyOperation, _ algorithm: KeyAlgorithm, _ key: KeyRequest.Key) throws -> Bool {
            try stage.service.isSupported(algorithm, for: operation, by: key, RequestContext())
        }
        #expect(try can(.sign, ServiceStage.algorithm, key))
        #expect(try can(.verify, ServiceStage.algorithm, key))
        #expect(try !can(.sign, .signature(.rsaPKCS1(.sha256)), key))
        #expect(try !can(.decrypt, ServiceStage.algorithm, key))
        #expect(try can(.encrypt, .aesGCM, aes))
        #expect(try !can(.sign, .aesGCM, aes))
        let half = KeyRequest.Key.given(GivenKey(try .publicKey(TestKey.named("berta").publicKey)))
        #expect(try can(.verify, .signature(.ecdsa(nil)), half))
        #expect(try !can(.sign, .signature(.ecdsa(nil)), half))
        #expect(stage.person.requests.isEmpty)
        #expect(stage.pinsSent == 0)
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

    /// After a fault at any command the answer is a correct signature or an error, no try is spent, and the next request works.
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
