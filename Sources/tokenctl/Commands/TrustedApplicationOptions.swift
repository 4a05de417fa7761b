internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import SecureBytes

/// The options of `security` that tell which programs use a new item without a question.
struct TrustedApplicationOptions: ParsableArguments {
    @Flag(name: .customShort("A"), help: "Have any program use it without a question.")
    var anyApplication = false

    @Option(
        name: .letter("T"),
        help: ArgumentHelp(
            """
            A program that may use it without a question, beside the one that makes it; for each. With '' a person is asked about each \
            program.
            """, valueName: "program"))
    var applications: [String] = []

    func validate() throws {
        guard anyApplication || applications.count < 2 || !applications.contains("") else {
            throw ValidationError(localized: "-T '' allows no program: leave the others out")
        }
    }

    /// The decisions about new items, checked before there are any.
    struct Decisions {
        /// Nil where each one is asked about.
        fileprivate let change: (([PersistentReference]) -> AccessChange)?

        fileprivate static var none: Decisions { Decisions(change: nil) }

        /// Decides about new items.
        ///
        /// - Parameter host: asks a person where another program has made the items.
        func apply(to items: [Item], _ host: any KeychainService, _ context: RequestContext) throws(KeychainError) {
            let secrets = items.filter(\.needsPermission)
            guard let change, !secrets.isEmpty else { return }
            _ = try host.changeAccess(change(secrets.map(\.reference)), context)
        }
    }

    /// The decisions that the options want. Warns of those that have no effect: scripts for macOS name programs that are not here.
    ///
    /// - Parameter keychain: the keychain of the new items.
    func decisions(in keychain: KeychainDetails, _ host: any KeychainService) throws(KeychainError) -> Decisions {
        guard anyApplication || !applications.isEmpty else { return .none }
        do throws(KeychainError) {
            _ = try host.changeAccess(.allow(nil, []), .silent)
        } catch {
            guard error.code == .notAvailable else { throw error }
            if !anyApplication { warn("-T", error.reasonText) }
            return .none
        }
        guard keychain.unlocking?.hasPassword != false else {
            if !anyApplication { warn("-T", "each program may use items of a keychain without a password") }
            return .none
        }
        if anyApplication { return Decisions { .allow(nil, $0) } }
        if applications == [""] { return Decisions { .reset(program: nil, $0) } }
        var programs: [String] = []
        for path in applications.map(absolutePath) {
            do throws(KeychainError) {
                _ = try host.changeAccess(.allow([path], []), .silent)
                programs.append(path)
            } catch {
                guard error.code == .param else { throw error }
                warn("-T", error.reasonText)
            }
        }
        return programs.isEmpty ? .none : Decisions { [programs] in .allow(programs, $0) }
    }

    private func warn(_ option: String, _ reason: LocalizedText) {
        Warnings.show("note: \(option) has no effect: \(reason)")
    }
}
