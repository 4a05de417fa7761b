import Foundation
import TestSupport
import Testing

/// A Kerberos ticket for a card (PKINIT), through the module. `kinit` supports only RSA keys, and loads the module twice.
@Suite struct KerberosTests {
    @Test func givesTheOwnerOfTheCardATicket() throws {
        let realm = try KerberosRealm()
        try realm.home.succeed(realm.kinit("alice"), realm.variables, input: "123456\n")
        let tickets = try realm.home.succeed(realm.command("bin/klist"), realm.variables)
        #expect(tickets.contains("Default principal: alice@EXAMPLE.TEST"), "\(tickets)")
        #expect(tickets.contains("krbtgt/EXAMPLE.TEST@EXAMPLE.TEST"))
        #expect(try realm.home.calls("C_Initialize") == ["CKR_OK", "CKR_OK"])
        #expect(try realm.home.calls("C_Login") == ["CKR_OK"])
    }

    /// The next prompt says that tries were lost, by the token's flags.
    @Test func refusesAWrongPINAndWarnsAfterIt() throws {
        let realm = try KerberosRealm()
        let first = try realm.home.fail(realm.kinit("alice"), realm.variables, input: "999999\n")
        #expect(first.contains("Preauthentication failed"), "\(first)")
        #expect(!first.contains("Warning: PIN count low"))
        #expect(try realm.home.calls("C_Login") == ["CKR_PIN_INCORRECT"])
        let second = try realm.home.succeed(realm.kinit("alice"), realm.variables, input: "123456\n")
        #expect(second.contains("PIN (Warning: PIN count low)"), "\(second)")
    }

    @Test func refusesAnotherUser() throws {
        let realm = try KerberosRealm()
        let answer = try realm.home.fail(realm.kinit("bob"), realm.variables, input: "123456\n")
        #expect(answer.contains("Client name mismatch"), "\(answer)")
    }
}

/// A realm with a key distribution centre, in the network of the test's pcscd, where every port is free.
private struct KerberosRealm {
    let home: ConsumerHome
    let variables: [String: String]
    private let server: ServerProcess

    init() throws {
        home = try ConsumerHome([.authentication: "rsa:2048", .signature: "rsa:2048"])
        let folder = home.folder
        try CertificateFiles(folder).issue("kdc", "rsa:2048", subject: "/CN=kdc", extensions: Self.extensions)
        let unpacked = "\(ConsumerHome.unpacked)/usr/lib"
        let names = try FileManager.default.contentsOfDirectory(atPath: unpacked)
        let libraries = try #require(
            names.map { "\(unpacked)/\($0)" }.first {
                FileManager.default.fileExists(atPath: "\($0)/krb5/plugins/kdb/db2.so")
            })
        variables = [
            "LD_LIBRARY_PATH": libraries,
            "KRB5_CONFIG": try folder.write("krb5.conf", Self.clientSettings(folder, libraries)),
            "KRB5_KDC_PROFILE": try folder.write("kdc.conf", Self.serverSettings(folder)),
        ]
        let home = home
        func command(_ name: String) -> [String] { Self.command(name, home) }
        try home.succeed(command("sbin/kdb5_util") + ["create", "-s", "-P", "master"], variables)
        for user in ["alice", "bob"] {
            try home.succeed(
                command("sbin/kadmin.local") + ["-q", "addprinc -nokey +requires_preauth \(user)"], variables)
        }
        server = try ServerProcess(
            command("sbin/krb5kdc") + ["-n"], environment: home.environment.merging(variables) { $1 },
            ready: "krb5kdc: starting", in: folder)
        try home.forgetCalls()
    }

    /// A Kerberos program, in the realm's network.
    func command(_ name: String) -> [String] { Self.command(name, home) }

    private static func command(_ name: String, _ home: ConsumerHome) -> [String] {
        home.holder.daemon.command(entering: ["\(ConsumerHome.unpacked)/usr/\(name)"])
    }

    func kinit(_ user: String) -> [String] {
        let identity = "PKCS11:module_name=\(ConsumerHome.module):token=\(ConsumerHome.tokenLabel):certid=01"
        return command("bin/kinit") + ["-X", "X509_user_identity=\(identity)", user]
    }

    /// The certificate of a centre names the realm's ticket-granting service. RFC 4556 §3.2.4.
    private static let extensions = """
        keyUsage=digitalSignature,keyEncipherment
        extendedKeyUsage=1.3.6.1.5.2.3.5
        subjectAltName=otherName:1.3.6.1.5.2.2;SEQUENCE:principal
        [principal]
        realm=EXPLICIT:0,GeneralString:EXAMPLE.TEST
        name=EXPLICIT:1,SEQUENCE:name
        [name]
        type=EXPLICIT:0,INTEGER:1
        parts=EXPLICIT:1,SEQUENCE:parts
        [parts]
        service=GeneralString:krbtgt
        realm=GeneralString:EXAMPLE.TEST
        """

    private static func clientSettings(_ folder: TemporaryFolder, _ libraries: String) -> String {
        """
        [libdefaults]
          default_realm = EXAMPLE.TEST
          dns_lookup_kdc = false
          dns_lookup_realm = false
          dns_canonicalize_hostname = false
          rdns = false
          plugin_base_dir = \(libraries)/krb5/plugins
          default_ccache_name = FILE:\(folder.path("tickets"))
        [realms]
          EXAMPLE.TEST = {
            kdc = 127.0.0.1:8888
            pkinit_anchors = FILE:\(folder.path("ca.pem"))
            pkinit_kdc_hostname = kdc
          }
        [dbmodules]
          db_module_dir = \(libraries)/krb5/plugins/kdb

        """
    }

    private static func serverSettings(_ folder: TemporaryFolder) -> String {
        """
        [kdcdefaults]
          kdc_listen = 127.0.0.1:8888
          kdc_tcp_listen = 127.0.0.1:8888
        [realms]
          EXAMPLE.TEST = {
            database_name = \(folder.path("principals"))
            key_stash_file = \(folder.path("stash"))
            acl_file = \(folder.path("acl"))
            pkinit_identity = FILE:\(folder.path("kdc.pem")),\(folder.path("kdc.key"))
            pkinit_anchors = FILE:\(folder.path("ca.pem"))
            pkinit_allow_upn = true
            pkinit_eku_checking = scLogin
          }
        [logging]
          kdc = FILE:\(folder.path("kdc.log"))

        """
    }
}
