import Foundation
import TestSupport
import Testing

/// The messages of make about missing prerequisites.
@Suite struct PrerequisitesTests {
    private static let script = Program.packageRoot.appending(path: "Scripts/prerequisites").path(percentEncoded: false)

    /// Nothing is missing of what `make test` has installed. The needs of other targets are not checked.
    @Test func isContentWhereTheTestsRun() throws {
        let result = try Program.run([Self.script, "build", "test"])
        #expect(result.status == 0)
        #expect(result.description == "exit 0\n")
    }

    /// The command has no host inside: on a machine where nothing was built, it is built as well.
    @Test(arguments: ["demo", "bench", "fuzz"]) func whatUsesTheCommandBuildsTheHostToo(target: String) throws {
        let plan = try Program.run(
            ["make", "--directory", Program.packageRoot.path(), "--dry-run", "--always-make", target])
        #expect(plan.status == 0, "\(plan)")
        for product in ["tokenctl", "tokenkitd"] { #expect(plan.text.contains("--product \(product)")) }
    }

    @Test func theDocumentsSayHowManyPackagesATargetNeeds() throws {
        let rows = try String(contentsOfFile: Self.script, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }.filter { $0.count == 4 }
        func count(_ targets: Set<Substring>) -> Int {
            rows.count { !targets.isDisjoint(with: $0[2].split(separator: " ")) }
        }
        let (build, demo) = (count(["build"]), count(["demo"]))
        let readme = try Repository.text("README.md")
        #expect(readme.contains("| \(build): headers of libraries"))
        #expect(readme.contains("| those, and \(count(["build", "demo"]) - build) more"))
        #expect(readme.contains("| \(count(["build", "test"])) in all;"))
        let packages = count(["build", "packages"]) - build
        #expect(readme.contains("| those of `make`, and \(packages) more: debhelper"))
        let counts = "\(build) to build, \(demo) for the demo, \(count(["test"])) for the tests"
        #expect(try Repository.text("CONTRIBUTING.md").contains("those to build and \(packages) more"))
        #expect(try Repository.text("CONTRIBUTING.md").contains(counts))
    }

    @Test func asksForAToolchain() throws {
        let folder = try TemporaryFolder()
        try folder.writeProgram("bash", "exec /bin/bash \"$@\"")
        let result = try Program.run([Self.script, "build"], environment: ["PATH": folder.path])
        #expect(result.status == 1)
        #expect(result.description.contains("there is no Swift toolchain (install Swift 6.2 or newer"))
    }

    @Test(arguments: [
        ("5.10.1", false), ("6.1.3", false), ("6.2", true), ("6.2.1", true), ("6.10", true), ("7.0", true),
    ])
    func comparesVersionsAsNumbers(version: String, isNewEnough: Bool) throws {
        let folder = try TemporaryFolder()
        try folder.writeProgram("swift", "echo 'Swift version \(version) (swift-\(version)-RELEASE)'")
        let result = try Program.run(
            [Self.script, "build"], environment: ["PATH": "\(folder.path):/usr/bin:/bin"])
        #expect(result.status == (isNewEnough ? 0 : 1), "\(result)")
        #expect(result.description.contains("Swift \(version) is too old") != isNewEnough)
    }

    @Test func namesWhatIsMissingOnAnotherDistributionAndStops() throws {
        let folder = try TemporaryFolder()
        try folder.write("os-release", "ID=fedora\n")
        let result = try Program.run(
            Self.asRootInOwnMounts(
                """
                mount --bind \(folder.path)/os-release /etc/os-release
                mount -t tmpfs tmpfs /usr/include/openssl
                exec \(Self.script) build
                """))
        #expect(result.status == 1)
        #expect(result.description.contains("libssl-dev        OpenSSL, which does the cryptography"), "\(result)")
        #expect(result.description.contains("this is not Debian"))
        #expect(!result.description.contains("zlib1g-dev"))
    }

    @Test func installsWhatIsMissingOnDebianAndSaysSo() throws {
        let folder = try TemporaryFolder()
        try folder.writeProgram("apt-get", "echo apt-get \"$@\"")
        let result = try Program.run(
            Self.asRootInOwnMounts(
                """
                mount -t tmpfs tmpfs /usr/include/openssl
                PATH=\(folder.path):$PATH exec \(Self.script) build
                """))
        #expect(result.status == 0, "\(result)")
        #expect(result.description.contains("libssl-dev        OpenSSL, which does the cryptography"))
        #expect(result.description.contains("Installing them:  apt-get install libssl-dev"))
        #expect(result.description.contains("apt-get install --yes"))
    }

    /// The command for a shell script that may cover the system's files, in its own mounts.
    private static func asRootInOwnMounts(_ script: String) -> [String] {
        ["unshare"] + (getuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount", "bash", "-euc", script]
    }
}
