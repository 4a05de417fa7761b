import Foundation
import TestSupport
import Testing

/// A person with certificates on a card or in a keychain, a web server that demands one of them, and a screen.
final class BrowserHome: Sendable {
    let home: ConsumerHome
    let desktop: Desktop
    private let token: ConsumerToken
    private let server: ConsumerService
    private let port: Int

    init(_ token: ConsumerToken, _ keys: KeyValuePairs<CardSlotName, String>) throws {
        let home = try ConsumerHome(keys)
        if token == .keychain {
            try home.createKeychain(
                password: ConsumerHome.pin, certificates: keys.map { home.certificate($0.key) },
                keys: keys.map { home.folder.path("card/\($0.key.file).key") })
        }
        let names = Self.pages.map { "DNS:page\($0).localhost" }.joined(separator: ",")
        try CertificateFiles(home.folder).issue(
            "server", "ec:P-256", subject: "/CN=localhost",
            extensions: "subjectAltName=\(names)\nextendedKeyUsage=serverAuth")
        (server, port) = try home.serve(named: "nginx") { port in
            let configuration = try home.folder.write("nginx.conf", Self.configuration(home.folder, port))
            return ["nginx", "-p", home.folder.path, "-c", configuration, "-e", "stderr"]
        }
        (self.home, self.token) = (home, token)
        desktop = try Desktop(in: home.folder)
    }

    /// The pages that the server has.
    static let pages = 0..<40

    /// The environment of the browser.
    var environment: [String: String] {
        let tokens = ["TOKENKIT_PKCS11_TOKENS": token == .card ? "cards" : "keychains"]
        return home.environment.merging(desktop.environment) { $1 }.merging(tokens) { $1 }.merging([
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", "NO_AT_BRIDGE": "1",
        ]) { $1 }
    }

    /// The URL of a page. Each has its own host name, so that no page is loaded over the connection of another one.
    func url(_ page: Int) -> String { "https://page\(page).localhost:\(port)/page\(page)" }

    /// Makes a database of NSS that trusts the test's authority and knows of the module.
    func makeDatabase(_ folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = "sql:\(folder)"
        try home.succeed(["certutil", "-N", "-d", path, "--empty-password"])
        try home.succeed(["certutil", "-A", "-d", path, "-n", "Authority", "-t", "C,,", "-a", "-i", home.authority])
        try home.succeed(["modutil", "-dbdir", path, "-add", "TokenKit", "-libfile", ConsumerHome.module, "-force"])
    }

    /// Waits until the server has answered a request for a page, and returns the name in the client's certificate; nil without
    /// one.
    func visitor(of page: Int, at location: SourceLocation = #_sourceLocation) throws -> String? {
        var line: Substring?
        eventually {
            line = home.log(of: "visits").split(separator: "\n").first { $0.hasSuffix(" /page\(page)") }
            return line != nil
        }
        let name = try #require(line, "\(home.log(of: "nginx"))", sourceLocation: location)
            .split(separator: " /").first.map(String.init)
        return name == "-" ? nil : name
    }

    private static func configuration(_ folder: TemporaryFolder, _ port: Int) -> String {
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        return """
            worker_processes 1;
            daemon off;
            pid nginx.pid;
            error_log stderr info;
            user \(NSUserName());
            events {}
            http {
                log_format visits "$ssl_client_s_dn $uri";
                access_log visits.log visits;
                \(folders.map { "\($0)_temp_path \($0);" }.joined(separator: "\n    "))
                ssl_session_cache off;
                ssl_session_tickets off;
                server {
                    listen 127.0.0.1:\(port) ssl;
                    ssl_certificate server.pem;
                    ssl_certificate_key server.key;
                    ssl_client_certificate ca.pem;
                    ssl_verify_client on;
                    location / { return 200 "welcome"; }
                }
            }

            """
    }
}
