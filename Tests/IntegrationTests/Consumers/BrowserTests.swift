import Foundation
import TestSupport
import Testing
import VirtualCard

/// Browsers show a server certificates of a card and of a keychain, and outlive the card's removal.
@Suite struct BrowserTests {
    /// Pages use an RSA key and an EC key in turn.
    @Test(arguments: ConsumerToken.allCases) func chromiumLogsIn(token: ConsumerToken) throws {
        let person = try BrowserHome(token, [.authentication: "rsa:2048", .retired1: "ec:P-256"])
        try logIn(person, token, with: Chromium(person, choosing: ["Alice 9A", "Alice 82"])) {
            "CN=Alice \($0 % 2 == 0 ? "9A" : "82"),O=Test"
        }
    }

    @Test(arguments: ConsumerToken.allCases, ["rsa:2048", "ec:P-256"])
    func firefoxLogsIn(token: ConsumerToken, kind: String) throws {
        let person = try BrowserHome(token, [.authentication: kind])
        try logIn(person, token, with: Firefox(person)) { _ in "CN=Alice 9A,O=Test" }
    }

    private func logIn(
        _ person: BrowserHome, _ token: ConsumerToken, with browser: some Browser, as name: (Int) -> String
    ) throws {
        try browser.open(0)
        try person.desktop.type(ConsumerHome.pin, into: browser.question)
        #expect(try person.visitor(of: 0) == name(0))
        try browser.open(1)
        #expect(try person.visitor(of: 1) == name(1))
        if token == .card {
            let link = person.home.holder.link
            link.remove()
            try person.home.holder.waitForNoCard()
            try browser.open(2)
            #expect(try person.visitor(of: 2) == nil)
            link.insert()
            try person.home.holder.waitForCard()
            // NSS looks for a card every ten seconds at most (nssSlot_IsTokenPresent).
            var page = 2
            while page < BrowserHome.pages.upperBound - 2, !person.desktop.shows(browser.question) {
                page += 1
                try browser.open(page)
                eventually(within: 2) { person.desktop.shows(browser.question) }
            }
            try person.desktop.type(ConsumerHome.pin, into: browser.question)
            try browser.open(page + 1)
            #expect(try person.visitor(of: page + 1) == name(page + 1))
        }
        #expect(browser.service.isRunning, "it ended")
        #expect(try person.home.calls("C_Sign").contains("CKR_OK"))
    }
}

private protocol Browser {
    var service: ConsumerService { get }

    /// The title of the window that asks for a PIN.
    var question: String { get }

    /// Opens a page, and does not wait for it.
    func open(_ page: Int) throws
}

/// Chromium with a profile of its own, and with the user's database of NSS.
private struct Chromium: Browser {
    let service: ConsumerService
    let question = "Unlock Security Device"
    private let person: BrowserHome
    private let debugger: String

    /// - Parameter subjects: The common names of the certificates that are shown without a question, for one page after the other.
    ///   The policy AutoSelectCertificateForUrls would set them for the whole machine; the profile has them as well.
    init(_ person: BrowserHome, choosing subjects: [String]) throws {
        self.person = person
        let folder = person.home.folder
        try person.makeDatabase(folder.path("home/.pki/nssdb"))
        let profile = folder.path("profile")
        try FileManager.default.createDirectory(
            atPath: profile + "/Default", withIntermediateDirectories: true)
        var sites: [String: Any] = [:]
        for page in BrowserHome.pages {
            let origin = person.url(page).split(separator: "/").prefix(2).joined(separator: "//")
            let subject = subjects[page % subjects.count]
            sites["\(origin),*"] = ["setting": ["filters": [["SUBJECT": ["CN": subject]]]]]
        }
        let preferences = ["profile": ["content_settings": ["exceptions": ["auto_select_certificate": sites]]]]
        try folder.write(
            "profile/Default/Preferences", Array(JSONSerialization.data(withJSONObject: preferences)))
        let command = [
            "chromium", "--no-sandbox", "--user-data-dir=\(profile)", "--no-first-run", "--disable-gpu",
            "--password-store=basic", "--remote-debugging-port=0", "about:blank",
        ]
        // The file has a port and, on the next line, a path.
        var port: Substring?
        service = try person.home.serve(command, person.environment, named: "chromium") {
            let text = try? String(contentsOfFile: profile + "/DevToolsActivePort", encoding: .utf8)
            port = text?.firstMatch(of: #/([0-9]+)\n./#)?.output.1
            return port != nil
        }
        debugger = "http://127.0.0.1:\(try #require(port))"
    }

    /// Opens a page in a new tab.
    func open(_ page: Int) throws {
        try person.home.succeed([
            "curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--request", "PUT",
            "\(debugger)/json/new?\(person.url(page))",
        ])
    }
}

/// Firefox with a profile of its own.
private struct Firefox: Browser {
    let service: ConsumerService
    let question = "Password Required"
    private let person: BrowserHome
    private let port: String

    init(_ person: BrowserHome) throws {
        self.person = person
        let folder = person.home.folder
        let profile = folder.path("profile")
        try person.makeDatabase(profile)
        let preferences: KeyValuePairs = [
            "security.default_personal_cert": "\"Select Automatically\"", "marionette.port": "0",
            "browser.shell.checkDefaultBrowser": "false", "datareporting.policy.dataSubmissionEnabled": "false",
            "app.update.enabled": "false", "network.captive-portal-service.enabled": "false",
            "network.connectivity-service.enabled": "false",
        ]
        try folder.write("profile/user.js", preferences.map { "user_pref(\"\($0)\", \($1));\n" }.joined())
        let file = profile + "/MarionetteActivePort"
        service = try person.home.serve(
            ["firefox-esr", "--marionette", "--no-remote", "--profile", profile, "about:blank"], person.environment,
            named: "firefox"
        ) { (try? String(contentsOfFile: file, encoding: .utf8).isEmpty) == false }
        port = try String(contentsOfFile: file, encoding: .utf8)
    }

    /// Opens a page in place of the one before.
    func open(_ page: Int) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/open-page.py")
        try person.home.succeed(["python3", script.path, port, person.url(page)])
    }
}
