// A front end in sixty lines: lists the identities of all keychains, signs with one, and prints events of cards.
import Foundation
import HostConnection

let host = HostConnection.open()
let arguments = Array(CommandLine.arguments.dropFirst())

func tell(_ text: String) { FileHandle.standardError.write(Data("minimal: \(text)\n".utf8)) }

func fail(_ text: String) -> Never {
    tell(text)
    exit(1)
}

/// The elements of an answer. Prints a warning for each part of the search list that the answer lacks.
func found<Element>(_ outcome: Outcome<[Element]>) -> [Element] {
    for gap in outcome.missing { tell("warning: \(gap.keychain): \(gap.error)") }
    return outcome.found
}

/// The only identity whose subject contains the text.
func identity(_ name: String) throws(KeychainError) -> Identity {
    let identities = found(try host.identities(.identities.subject(.contains, name).where(.canSign, true)))
    guard identities.count == 1, let identity = identities.first else {
        fail("\(identities.count) identities match '\(name)'")
    }
    return identity
}

do throws(KeychainError) {
    switch (arguments.first, arguments.count) {
    case ("list", 1):
        let names = Dictionary(grouping: found(try host.keychains(RequestContext())), by: \.identifier)
        for identity in found(try host.identities(.identities)) {
            let keychain = names[identity.key.keychain]?.first?.name ?? identity.key.keychain.description
            print("\(identity.certificate.commonName ?? "?")  \(keychain)")
        }
    case ("sign", 3):
        let identity = try identity(arguments[1])
        guard let certificate = identity.certificate.certificate else { fail("the certificate cannot be read") }
        let algorithm: SignatureAlgorithm =
            certificate.publicKey?.kind.isRSA == true ? .rsaPKCS1(.sha256) : .ecdsa(.sha256)
        let request = KeyRequest(
            .sign(Array(arguments[2].utf8)), .messageSignature(algorithm), with: identity.key.reference)
        let signature = try host.perform(request, RequestContext(purpose: "sign '\(arguments[2])'"))
        print("a signature of \(signature.secret.count) bytes by \(identity.certificate.commonName ?? "?")")
    case ("watch", 1):
        var position: EventPosition?
        while true {
            let page = try host.events(after: position, waiting: .seconds(60), RequestContext())
            position = page.next
            for event in page.events { print("\(event.kind.name)  \(event.location ?? "")") }
            fflush(nil)
        }
    default: fail("give it: list, sign SUBJECT TEXT, or watch")
    }
} catch {
    fail(error.description)
}
