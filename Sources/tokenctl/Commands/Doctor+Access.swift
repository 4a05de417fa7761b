internal import Glibc
internal import HostAPI
internal import Platform

extension DoctorSystem {
    /// Checks the administrator's rules for programs that nobody is asked about: the host ignores a file, or a program's, that others than root
    /// can write, and a file with a line that is no rule.
    ///
    /// - Parameter root: the user who must own the file and the programs.
    func accessRules(
        at path: String = Directories.own.system + "/access.conf", of root: uid_t = 0
    ) -> [Finding] {
        guard exists(path) else { return [] }
        let file = ShellText.quoted(path)
        guard let rules = text(path) else {
            return [
                Finding(
                    state: "missing", subject: "access rules", finding: "\(path) cannot be read",
                    remedy: "sudo chmod 644 \(file)")
            ]
        }
        guard isAlone(root, at: path) else {
            return [
                Finding(
                    state: "missing", subject: "access rules",
                    finding: "\(path) is ignored, since others than root can write it",
                    remedy: "sudo chown root: \(file) && sudo chmod 644 \(file)")
            ]
        }
        var findings: [Finding] = []
        for (index, line) in rules.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            func finding(_ state: String, _ text: String, remedy: String? = nil) -> Finding {
                Finding(
                    state: state, subject: "access rules", finding: "line \(index + 1) of \(path) \(text)",
                    remedy: remedy)
            }
            guard words.count > 1, words[0] == "allow", words[1].hasPrefix("/"),
                words.dropFirst(2).allSatisfy({ $0.hasPrefix("user=") || $0.hasPrefix("unit=") })
            else {
                findings.append(
                    finding(
                        "missing", "is no rule, so that none counts",
                        remedy: "a line like: allow /PATH [user=NAME] [unit=NAME]"))
                continue
            }
            if !exists(words[1]) {
                findings.append(finding("note", "allows \(words[1]), which is not there"))
            } else if !isAlone(root, at: words[1]) {
                findings.append(finding("missing", "does not count: others than root can write \(words[1])"))
            }
        }
        return findings.isEmpty ? [Finding(state: "ok", subject: "access rules", finding: path)] : findings
    }

    /// Whether a user alone can write a file.
    private func isAlone(_ user: uid_t, at path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_uid == user && status.st_mode & 0o022 == 0
    }
}
