internal import HostAPI
internal import KeychainModel
internal import Glibc
internal import Localization
internal import Platform

extension Doctor {
    /// Checks for keychains of the search list that searches leave out.
    static func keychains() -> [Finding] {
        do {
            return try CommandKeychains(cards: false).foundFiles().missing.map { gap in
                let isAbsent = gap.kind == .absentKeychain
                return Finding(
                    state: "missing", subject: "keychain",
                    finding: isAbsent
                        ? "\(gap.keychain) is in the search list, and there is no such file" : "\(gap.text)",
                    remedy: isAbsent
                        ? "tokenctl delete-keychain \(ShellText.quoted(gap.keychain)), unless it comes back"
                        : gap.error.remedyText)
            }
        } catch {
            let error = error as? KeychainError
            return [
                Finding(
                    state: "missing", subject: "keychains", finding: error?.reasonText ?? "they cannot be listed",
                    remedy: error?.remedyText)
            ]
        }
    }

    /// Checks for PKCS#11 modules of other makers that searches leave out.
    static func modules() -> [Finding] {
        guard let tokens = try? CommandKeychains(files: false).foundModuleTokens() else { return [] }
        let isChosen = Environment.variable("TOKENKIT_MODULES") != nil
        let remedy: LocalizedText =
            isChosen
            ? "leave it out of TOKENKIT_MODULES" : "a line 'disable-in: tokenctl' in the module's file of p11-kit"
        return tokens.missing.filter { $0.place == .module }.map { gap in
            Finding(
                state: "missing", subject: "other modules", finding: "\(gap.text)",
                remedy: "\(remedy), unless its maker helps")
        }
    }
}

extension DoctorSystem {
    /// Checks the program for PIN prompts, if the user has chosen one.
    func pinentry() -> [Finding] {
        HostAccess.defectOfPinentry.map { defect in
            [
                Finding(
                    state: "missing", subject: "pinentry", finding: "\(defect)",
                    remedy: "unset PINENTRY_PROGRAM, or set it to the path of a pinentry")
            ]
        } ?? []
    }

    /// Checks for a host that serves cards and keychains to the session's programs.
    func host() -> [Finding] {
        guard exists(HostProgram.path) else {
            return [
                Finding(
                    state: "missing", subject: "host", finding: "\(HostProgram.path) is not there",
                    command: HostProgram.installation(of: HostProgram.name))
            ]
        }
        let session = try? HostSession()
        guard let session, session.listener != .none else {
            let remedy =
                exists("/run/systemd/system") ? "systemctl --user enable --now tokenkit.socket" : "tokenctl host start"
            return [
                Finding(
                    state: "note", subject: "host",
                    finding: "none serves this session: tokenctl starts it, other programs start their own",
                    command: remedy)
            ]
        }
        guard session.listener != .overloaded else {
            return [
                Finding(
                    state: "missing", subject: "host", finding: "it listens at \(session.path), and does not answer",
                    command: "pkill -KILL \(HostProgram.name)")
            ]
        }
        return [Finding(state: "ok", subject: "host", finding: "it serves this session at \(session.path)")]
    }

    /// Finds modules that show a card a second time to programs that use p11-kit. A URI such as `pkcs11:id=%01` then names two
    /// objects, and some programs take the other module's.
    func otherModules() -> [Finding] {
        let others = ["opensc-pkcs11.so": "OpenSC", "libykcs11.so": "Yubico"]
        let folders = Modules.foldersOfConfiguration
        return folders.flatMap { folder in names(in: folder).map { "\(folder)/\($0)" } }.compactMap { file in
            guard file.hasSuffix(".module"), let text = text(file),
                let library = value(of: "module", ":", in: text)?.split(separator: "/").last,
                let maker = others.first(where: { library.hasPrefix($0.key) })?.value
            else { return nil }
            let name = file.split(separator: "/").last.map(String.init) ?? ""
            // p11-kit adds the administrator's file to a package's file of the same name.
            let isDisabled = folders.contains { folder in
                self.text("\(folder)/\(name)").flatMap { value(of: "enable-in", ":", in: $0) }.map(\.isEmpty) ?? false
            }
            guard !isDisabled else { return nil }
            return Finding(
                state: "note", subject: "other modules",
                finding: "\(maker)'s module shows the same cards once more (\(file))",
                command:
                    "sudo mkdir -p /etc/pkcs11/modules && echo enable-in: | sudo tee -a /etc/pkcs11/modules/\(ShellText.quoted(name))"
            )
        }
    }
}
